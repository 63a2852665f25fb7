# Copyright (c) mmstepnet contributors. All rights reserved.
"""Faults that a training ends by itself after: each gives one sentence."""
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Optional

from .compare import compare
from .kills import ORPHAN_SECONDS, check_latest
from .training import REPO, Training, wait_for_none

# torchrun kills processes that have not ended 30 seconds after a signal.
LAUNCHER_SECONDS = 90
_STOPPED = 'the training ends after iteration'
WORKERS = ('--cfg-options', 'train_dataloader.num_workers=2',
           'train_dataloader.persistent_workers=True')
# So long that a signal for the launcher comes well before the end.
LONGER = ('--cfg-options', 'train_cfg.max_epochs=20')


class Ranks(Training):
    """A run of ``tools/dist_train.sh`` with two processes."""

    def _run(self, root: Path, setup) -> None:
        os.setsid()
        output = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root)
        os.environ.update(PYTHON=sys.executable, CUDA_VISIBLE_DEVICES='-1')
        config, *options = self.arguments
        os.execv('/bin/bash', [
            'bash',
            str(REPO / 'tools' / 'dist_train.sh'), config, '2', *options
        ])

    def processes(self) -> List[int]:
        """Processes that have the work dir among their arguments."""
        found = []
        for entry in Path('/proc').glob('[0-9]*'):
            try:
                arguments = (entry / 'cmdline').read_bytes().split(b'\0')
            except OSError:
                continue  # it has just ended
            if str(self.work_dir).encode() in arguments:
                found.append(int(entry.name))
        return found

    def ranks(self) -> List[int]:
        """The processes that train, in the order of their start."""
        return sorted(pid for pid in self.processes()
                      if _parent(pid) == str(self.pid))


def _parent(pid: int) -> str:
    try:
        stat = Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return ''
    return stat.rsplit(')', 1)[1].split()[1]


def _seen(training: Training, mark: str, number: int) -> None:
    if not training.until(lambda: training.log().count(mark) >= number, 600):
        raise RuntimeError(f'no {number} lines with {mark!r}: '
                           f'{training.log()[-2000:]}')


def _report(fault: str,
            training: Training,
            start: float,
            status: int,
            sentence: str,
            seconds: float = ORPHAN_SECONDS,
            reference: Optional[Path] = None) -> Dict[str, object]:
    """What is left after a fault, and whether it goes on from there."""
    took = time.monotonic() - start
    took += wait_for_none(training, seconds)
    lines = [line for line in training.log().splitlines() if sentence in line]
    wrong = []
    if training.exit_code != status:
        wrong.append(f'exit status {training.exit_code}, not {status}')
    if len(lines) != 1:
        wrong.append(f'{len(lines)} lines with {sentence!r}: '
                     f'{training.log()[-2000:]}')
    if 'Traceback' in training.log():
        wrong.append(f'a traceback: {training.log()[-3000:]}')
    wrong += [
        f'{path.name} is left'
        for path in training.work_dir.glob('**/*.partial')
    ]
    wrong += check_latest(training.work_dir)
    if reference is not None:
        config, _, *options = training.arguments
        again = type(training)(training.work_dir.parent,
                               training.work_dir.name, Path(config).stem,
                               '--resume', *options[1:])
        if again.wait(600):
            wrong.append(f'not resumed: {again.log()[-2000:]}')
        wrong += compare(reference, training.work_dir)
    print(f'{fault}: {"; ".join(wrong) or "as it should be"}', flush=True)
    return dict(
        fault=fault,
        exit_status=training.exit_code,
        seconds=round(took, 1),
        sentence=lines[0] if lines else None,
        wrong=wrong)


def stop_in_iteration(root: Path, config: str) -> Dict[str, object]:
    """SIGTERM for all processes, as a scheduler sends it."""
    training = Training(root, f'{config}_sigterm', config, *WORKERS)
    _seen(training, 'Epoch(train)', 6)
    start = time.monotonic()
    os.killpg(training.pid, signal.SIGTERM)
    training.wait()
    return _report(
        'SIGTERM in an iteration, workers too',
        training,
        start,
        128 + signal.SIGTERM,
        _STOPPED,
        reference=root / f'{config}_reference')


def stop_in_validation(root: Path, config: str) -> Dict[str, object]:
    """SIGUSR1 for the process of the training."""
    training = Training(root, f'{config}_sigusr1', config)
    _seen(training, 'Epoch(val)', 2)
    start = time.monotonic()
    training.send(signal.SIGUSR1)
    training.wait()
    return _report(
        'SIGUSR1 in a validation',
        training,
        start,
        128 + signal.SIGUSR1,
        _STOPPED,
        reference=root / f'{config}_reference')


def lose_worker(root: Path, config: str) -> Dict[str, object]:
    """A worker of the dataloader is killed."""
    training = Training(root, f'{config}_worker', config, *WORKERS)
    _seen(training, 'Epoch(train)', 6)
    start = time.monotonic()
    worker = max(training.processes())
    os.kill(worker, signal.SIGKILL)
    training.wait()
    return _report(
        'a worker of the dataloader is killed',
        training,
        start,
        1,
        'error: a process that loads data has died',
        reference=root / f'{config}_reference')


def limit_files() -> None:
    """Let no file grow beyond what the logs need."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


def fill_files(root: Path, config: str) -> Dict[str, object]:
    """A limit on the size of files, which every user can set."""
    start = time.monotonic()
    training = Training(root, f'{config}_limit', config, setup=limit_files)
    training.wait()
    return _report('a file may not grow', training, start, 1,
                   'error: a file cannot be written')


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system in memory that is soon full."""
    folder.mkdir()
    mount = ['mount', '-t', 'tmpfs', '-o', 'size=9m', 'tmpfs', str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def _remount(folder: Path, option: str) -> None:
    subprocess.run(['mount', '-o', f'remount,{option}',
                    str(folder)],
                   check=True)


def fill_disk(root: Path, config: str) -> List[Dict[str, object]]:
    """A disk gets full; then it is read-only; then there is room again."""
    folder = root / 'disk'
    with small_disk(folder):
        name = f'disk/{config}_full'
        start = time.monotonic()
        training = Training(root, name, config)
        training.wait()
        full = _report('a full disk', training, start, 1,
                       'error: a file cannot be written')
        _remount(folder, 'ro')
        start = time.monotonic()
        training = Training(root, name, config, '--resume')
        training.wait()
        read_only = _report('a read-only work dir', training, start, 1,
                            'takes no files: Read-only file system')
        _remount(folder, 'rw,size=64m')
        training = Training(root, name, config, '--resume')
        if training.wait():
            full['wrong'].append(f'not resumed: {training.log()[-2000:]}')
        full['wrong'] += compare(root / f'{config}_reference',
                                 folder / f'{config}_full')
    return [full, read_only]


def lose_ranks(root: Path, config: str) -> List[Dict[str, object]]:
    """One of two processes, or their launcher, is killed or stopped."""
    reference = Ranks(root, f'{config}_ranks', config, *LONGER)
    if reference.wait(900):
        raise RuntimeError(reference.log())
    reports = []
    for fault, signum, status, sentence in [
        ('a rank of two is killed', signal.SIGKILL, 1, 'ended by SIGKILL'),
        ('SIGTERM for the launcher', signal.SIGTERM, 143, _STOPPED),
        ('SIGUSR1 for the launcher', signal.SIGUSR1, 138, _STOPPED),
        ('the launcher is killed', signal.SIGKILL, -9, _STOPPED),
    ]:
        name = f'{config}_ranks_{len(reports)}'
        training = Ranks(root, name, config, *LONGER)
        _seen(training, 'Epoch(train)', 3)
        start = time.monotonic()
        is_rank = fault.startswith('a rank')
        os.kill(training.ranks()[-1] if is_rank else training.pid, signum)
        training.wait(LAUNCHER_SECONDS)
        reports.append(
            _report(fault, training, start, status, sentence, LAUNCHER_SECONDS,
                    reference.work_dir))
    return reports


def run_others(root: Path, config: str) -> List[Dict[str, object]]:
    """Let all other faults happen to a training.

    Args:
        root (Path): Folder that trainings run in, after the kills.
        config (str): Name of a config.

    Returns:
        list[dict]: For each fault its exit status, its sentence, the seconds
        until no process was left, and what is wrong.
    """
    reports = [
        fault(root, config)
        for fault in (stop_in_iteration, stop_in_validation, lose_worker,
                      fill_files)
    ]
    if os.geteuid() == 0:
        reports += fill_disk(root, config)
    else:
        print('only root can mount the small disk: left out')
    return reports + lose_ranks(root, config)
