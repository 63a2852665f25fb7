# Copyright (c) mmstepnet contributors. All rights reserved.
import logging
import os
import os.path as osp
import pickle
import zipfile
from pathlib import Path
from typing import List, Optional

from mmengine.dist import barrier, is_main_process
from mmengine.fileio import join_path
from mmengine.logging import print_log
from mmengine.runner import Runner, find_latest_checkpoint
from mmengine.runner.checkpoint import CheckpointLoader
from torch.optim import Optimizer

from .files import write_whole

# Saved where a signal has stopped the training.
STOPPED = 'stopped.pth'
# What a training has to find beside the weights to go on.
STATE = ('meta', 'message_hub', 'optimizer')


def save_latest(runner: Runner, out_dir: str, filename: str, meta: dict,
                **kwargs) -> str:
    """Save a checkpoint and make it the one that ``--resume`` takes.

    All processes have to call it, and it returns when the files are there.

    Args:
        runner (Runner): The runner.
        out_dir (str): Folder of the checkpoint.
        filename (str): Name of the checkpoint.
        meta (dict): ``epoch`` and ``iter`` to go on from.
        **kwargs: Further arguments of ``Runner.save_checkpoint``.

    Returns:
        str: Path of the checkpoint.
    """
    path = join_path(out_dir, filename)
    runner.message_hub.update_info_dict(
        dict(last_ckpt=path, saved_iter=meta['iter']))
    runner.save_checkpoint(out_dir, filename, meta=meta, **kwargs)
    if is_main_process():
        write_whole(path.encode(), osp.join(runner.work_dir,
                                            'last_checkpoint'))
        stopped = osp.join(runner.work_dir, STOPPED)
        if filename != STOPPED and osp.exists(stopped):
            os.remove(stopped)
    barrier()
    return path


def check_optimizer(optimizer: Optimizer, state: dict) -> None:
    """Refuse the state of another kind, say that the learning rate differs.

    Releases of PyTorch add settings or drop them, and schedulers add their
    own, so that a state fits unless it both has others and lacks some.

    Args:
        optimizer (Optimizer): The optimizer to go on with.
        state (dict): ``state_dict()`` of one.

    Raises:
        ValueError: If the state is of another kind.

    Example:
        >>> from torch import nn, optim
        >>> weights = nn.Linear(2, 2).parameters()
        >>> sgd = optim.SGD(weights, lr=1.)
        >>> check_optimizer(sgd, sgd.state_dict())
    """
    saved = set().union(*state['param_groups'])
    others = saved.difference(*optimizer.param_groups)
    if others and not saved.issuperset(optimizer.defaults):
        raise ValueError(
            'the checkpoint holds the state of an optimizer with '
            f'{", ".join(sorted(others))}, which {type(optimizer).__name__} '
            'does not have: go on with the optimizer of that training, or '
            'begin a new one with these weights by load_from')
    for before, now in zip(state['param_groups'], optimizer.param_groups):
        rates = [group.get('initial_lr') for group in (before, now)]
        if None not in rates and rates[0] != rates[1]:
            print_log(
                'the training goes on with the learning rate of the '
                f'checkpoint, {rates[0]:g} before its schedule, not with '
                f'{rates[1]:g} of the config', 'current', logging.WARNING)
            break


def is_whole(path: str) -> bool:
    """Whether a checkpoint file is complete and every byte of it is right.

    Args:
        path (str): A file that ``torch.save`` has written.

    Example:
        >>> is_whole(__file__)
        False
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _can_resume(path: str) -> bool:
    """Whether a file holds more than weights."""
    if not is_whole(path):
        return False
    try:
        checkpoint = CheckpointLoader.load_checkpoint(path, 'cpu')
    except (EOFError, RuntimeError, ValueError, pickle.UnpicklingError):
        return False
    return set(STATE) <= set(checkpoint)


def _newest_first(folder: str) -> List[str]:
    """Checkpoints of a folder, without the best ones, which hold weights."""
    paths = [
        path for path in Path(folder).glob('*.pth')
        if not path.name.startswith('best_')
    ]
    paths.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [str(path) for path in paths]


def latest_checkpoint(work_dir: str) -> Optional[str]:
    """The newest checkpoint that a training can go on from.

    It is the one that ``last_checkpoint`` names. If that one is missing or
    damaged, which a copy that broke off or a power failure can do, the newest
    whole one is taken instead, and a warning says so.

    Args:
        work_dir (str): Work dir of the training.

    Returns:
        str, optional: Its path, None if there is none.

    Raises:
        ValueError: If one is named, but none can be read.
    """
    named = None
    if osp.exists(osp.join(work_dir, 'last_checkpoint')):
        named = find_latest_checkpoint(work_dir)
        if '://' in named or is_whole(named):
            return named
    paths = _newest_first(work_dir)
    if named and osp.abspath(osp.dirname(named)) != osp.abspath(work_dir):
        paths += _newest_first(osp.dirname(named))
    found = next(filter(_can_resume, paths), None)
    if named is not None:
        problem = (f'the latest checkpoint {named!r}, named by '
                   f'last_checkpoint in {work_dir!r}, is missing or damaged')
        if found is None:
            raise ValueError(f'{problem}, and there is no other to go on '
                             'from; without --resume the training begins '
                             'anew')
        print_log(f'{problem}; the training goes on from {found!r}', 'current',
                  logging.WARNING)
    return found
