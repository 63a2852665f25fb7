# Copyright (c) mmstepnet contributors. All rights reserved.
"""Trainings that are killed again and again until they are done."""
import random
import time
from collections import Counter
from pathlib import Path
from typing import Dict, List, Tuple

from mmstepnet.engine.checkpoint import is_whole
from .compare import compare
from .training import Training, wait_for_none

MOMENTS = ('iteration', 'validation', 'checkpoint', 'any time')
# Workers of a dataloader look for their parent every 5 seconds.
ORPHAN_SECONDS = 15


def strike(training: Training, moment: str, rng: random.Random,
           seconds: float) -> str:
    """Kill a training.

    Args:
        training (Training): The training.
        moment (str): One of ``MOMENTS``.
        rng (random.Random): Chooses the iteration, the validation, ...
        seconds (float): What a whole training takes.

    Returns:
        str: What was hit, nothing if the training had ended before.
    """
    partial = training.work_dir.glob
    if moment == 'any time':
        end = time.monotonic() + rng.uniform(0, seconds)
        training.until(lambda: time.monotonic() > end)
    elif moment == 'checkpoint':
        number = rng.randint(1, 3)
        training.until(
            lambda: training.log().count('Saving checkpoint') >= number)
        training.until(lambda: any(partial('*.partial')), 5, 0)
    else:
        mark = dict(iteration='Epoch(train)', validation='Epoch(val)')[moment]
        number = rng.randint(1, 7)
        training.until(lambda: training.log().count(mark) >= number)
        time.sleep(rng.uniform(0, 0.05))
    if not training.kill():
        return ''
    half = any(partial('*.partial'))
    if moment == 'checkpoint':
        return f'checkpoint, {"half" if half else "just"} written'
    return moment


def check_latest(work_dir: Path) -> List[str]:
    """What is wrong with the checkpoint that a training would go on from.

    Args:
        work_dir (Path): Folder of a training that has been killed.
    """
    last = work_dir / 'last_checkpoint'
    if not last.exists():
        return []
    if not is_whole(last.read_text()):
        return [f'the latest checkpoint {last.read_text()!r} is damaged']
    return []


def train_through_kills(root: Path, name: str, config: str,
                        options: Tuple[str, ...], reference: Path,
                        moments: List[str], rng: random.Random,
                        seconds: float) -> Tuple[Counter, List[str]]:
    """Train, be killed at each of the moments, and compare the end.

    Args:
        root (Path): Folder that trainings run in.
        name (str): Name of the work dir.
        config (str): Name of the config.
        options (tuple[str]): Further arguments of the tool.
        reference (Path): Work dir of the training without interruption.
        moments (list[str]): When to kill, one after the other; some are left
            if the training ends before.
        rng (random.Random): Source of randomness.
        seconds (float): What a whole training takes.

    Returns:
        tuple[Counter, list[str]]: What was hit how often, and what is wrong.
    """
    hit: Counter = Counter()
    wrong: List[str] = []
    while moments:
        training = Training(root, name, config, '--resume', *options)
        struck = strike(training, moments[0], rng, seconds)
        wait_for_none(training, ORPHAN_SECONDS)
        if not struck:
            if training.exit_code:
                wrong.append(f'exit status {training.exit_code}: '
                             f'{training.log()[-500:]}')
            break
        hit[struck] += 1
        moments.pop(0)
        wrong += check_latest(training.work_dir)
        print(f'{name}: killed at {struck}', flush=True)
    else:
        training = Training(root, name, config, '--resume', *options)
        if training.wait():
            wrong.append(f'exit status {training.exit_code}: '
                         f'{training.log()[-500:]}')
    wrong += compare(reference, root / name)
    print(f'{name}: {"; ".join(wrong) or "the same as uninterrupted"}')
    return hit, [f'{name}: {what}' for what in wrong]


def run_kills(root: Path, number: int, configs: List[str],
              rng: random.Random) -> Dict[str, object]:
    """Kill trainings of all configs, with and without workers.

    Args:
        root (Path): Folder that trainings run in.
        number (int): Kills.
        configs (list[str]): Names of configs.
        rng (random.Random): Source of randomness.

    Returns:
        dict: The counts, and what is wrong.
    """
    references: Dict[str, Tuple[Path, float]] = {}
    for config in configs:
        start = time.monotonic()
        training = Training(root, f'{config}_reference', config)
        if training.wait():
            raise RuntimeError(training.log())
        references[config] = training.work_dir, time.monotonic() - start
        print(f'{config}: {references[config][1]:.0f} s uninterrupted')
    hit: Counter = Counter()
    wrong: List[str] = []
    trainings = 0
    moments = [MOMENTS[i % len(MOMENTS)] for i in range(number)]
    while moments:
        config = configs[trainings % len(configs)]
        workers = 2 * (trainings // len(configs) % 2)
        options = ('--cfg-options', f'train_dataloader.num_workers={workers}',
                   f'train_dataloader.persistent_workers={workers > 0}')
        batch = moments[:4]
        hits, faults = train_through_kills(root, f'{config}_{trainings}',
                                           config, options,
                                           references[config][0], batch, rng,
                                           references[config][1])
        moments = batch + moments[4:]
        hit.update(hits)
        wrong += faults
        trainings += 1
    return dict(
        trainings=trainings,
        kills=sum(hit.values()),
        moments=dict(hit),
        wrong=wrong)
