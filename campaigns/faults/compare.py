# Copyright (c) mmstepnet contributors. All rights reserved.
"""Whether two work dirs hold the same training, bit for bit."""
import json
from pathlib import Path
from typing import Any, Dict, List, Tuple

import torch
from mmengine.logging import HistoryBuffer

from mmstepnet.checkpoints import read_checkpoint

# What depends on the clock, or names the run and its folder.
_CLOCK = {'time', 'data_time', 'eta', 'memory', 'experiment_name', 'cfg'}


def differences(first: Any, second: Any, name: str = '') -> List[str]:
    """Names of what differs in two nested values.

    Args:
        first (Any): Tensors, histories and plain data.
        second (Any): The same of the other run.
        name (str): What it is.

    Example:
        >>> differences(dict(a=[1, 2]), dict(a=[1, 3]))
        ['/a/1']
    """
    if isinstance(first, HistoryBuffer):
        first, second = (
            torch.tensor([*value.data[0], *value.data[1]])
            for value in (first, second))
    if isinstance(first, torch.Tensor):
        return [] if torch.equal(first, second) else [name]
    if isinstance(first, (list, tuple)):
        first, second = dict(enumerate(first)), dict(enumerate(second))
    if isinstance(first, dict):
        keys = [
            key for key in {
                **first,
                **second
            } if str(key).rsplit('/', 1)[-1] not in _CLOCK
        ]
        return sum((differences(first[key], second[key], f'{name}/{key}')
                    if key in first and key in second else [f'{name}/{key}']
                    for key in keys), [])
    if isinstance(first, str):
        first, second = Path(first).name, Path(second).name
    return [] if first == second else [name]


def scalars(work_dir: Path) -> Dict[Tuple[str, int], Any]:
    """What the log holds for each quantity and step, the last entry of each.

    Args:
        work_dir (Path): Folder of the training.
    """
    values = {}
    for path in sorted(work_dir.glob('*/vis_data/scalars.json')):
        for line in path.read_text().splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue  # killed while it was written
            step = entry.get('step', entry.get('iter'))
            for key, value in entry.items():
                if key not in _CLOCK:
                    values[key, step] = value
    return values


def compare(first: Path, second: Path) -> List[str]:
    """Names of what differs in two work dirs.

    Compared are the names of all files, the checkpoints without what depends
    on the clock, the records of TNS and all scalars of the log.

    Args:
        first (Path): Work dir of a training without interruption.
        second (Path): Work dir of another.
    """
    found = []
    names = [{path.name
              for path in folder.iterdir() if path.is_file()}
             for folder in (first, second)]
    found += [f'file {name}' for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        if name.endswith('.pth'):
            found += differences(
                *(read_checkpoint(str(folder / name))
                  for folder in (first, second)), name)
        elif name == 'tns.jsonl':
            if (first / name).read_text() != (second / name).read_text():
                found.append(name)
        elif name == 'last_checkpoint':
            found += differences((first / name).read_text(),
                                 (second / name).read_text(), name)
    return found + differences(scalars(first), scalars(second), 'scalars')
