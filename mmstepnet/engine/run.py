# Copyright (c) mmstepnet contributors. All rights reserved.
"""What training and testing have in common: arguments, config and runner."""
import argparse
import logging
import os
import os.path as osp
from typing import Sequence

from mmengine.config import Config
from mmengine.registry import RUNNERS
from mmengine.runner import Runner

from mmstepnet.compat import announce_afterwards, read_own_checkpoints
from .checks import (check_checkpoint, check_data, check_pretrained,
                     check_settings)
from .class_names import check_classes
from .config import read_config
from .cpu import init_cpu_processes
from .files import check_writable
from .matching_keys import MatchingKeysHook
from .options import ConfigOptions
from .parent import end_with_launcher


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that every tool with a runner takes.

    Args:
        parser (argparse.ArgumentParser): Parser of the tool.
    """
    parser.add_argument('--work-dir', help='the folder of logs and results')
    parser.add_argument(
        '--amp', action='store_true', help='compute in mixed precision')
    parser.add_argument(
        '--no-pin-memory',
        action='store_true',
        help="don't pin the memory of the dataloaders")
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=ConfigOptions,
        metavar='KEY=VALUE',
        help='settings that override those of the config. A list is written '
        'key="[a,b]" or key=a,b, and may be nested: key="[(a,b),(c,d)]"')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='what starts the processes')
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0)


def load_config(args: argparse.Namespace) -> Config:
    """Read the config and apply the arguments of all tools.

    Args:
        args (argparse.Namespace): Parsed arguments.

    Returns:
        Config: The config.

    Raises:
        FileNotFoundError: If there is no such config.
        ValueError: If it can't be read, or the launcher has not set its
            environment.
    """
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    if args.launcher == 'pytorch' and 'RANK' not in os.environ:
        raise ValueError('--launcher pytorch needs the environment that '
                         'torchrun sets: use tools/dist_train.sh or '
                         'tools/dist_test.sh')
    cfg = read_config(args.config, args.cfg_options)
    cfg.launcher = args.launcher
    if args.work_dir is not None:
        cfg.work_dir = args.work_dir
    elif cfg.get('work_dir') is None:
        name = osp.splitext(osp.basename(args.config))[0]
        cfg.work_dir = osp.join('./work_dirs', name)
    return cfg


def set_dataloader_defaults(cfg: Config, args: argparse.Namespace,
                            splits: Sequence[str]) -> None:
    """Fill in what the dataloaders leave open, as the family's tools do.

    MMPretrain's configs leave collating, pinned memory and persistent workers
    to its tools.

    Args:
        cfg (Config): Config of the run, changed in place.
        args (argparse.Namespace): Parsed arguments.
        splits (Sequence[str]): ``'train'``, ``'val'`` or ``'test'``.
    """
    for split in splits:
        loader = cfg.get(f'{split}_dataloader')
        if not loader:
            continue
        if cfg.get('default_scope') == 'mmpretrain':
            loader.setdefault('pin_memory', True)
            loader.setdefault('persistent_workers',
                              bool(loader.get('num_workers', 0)))
            loader.setdefault('collate_fn', dict(type='default_collate'))
        if args.no_pin_memory:
            loader['pin_memory'] = False
        if getattr(args, 'no_persistent_workers', False):
            loader['persistent_workers'] = False


def _raise_again(record: logging.LogRecord) -> None:
    raise


def build_runner(cfg: Config, splits: Sequence[str]) -> Runner:
    """Check the paths of a config, then build its runner.

    Args:
        cfg (Config): Config of the run.
        splits (Sequence[str]): The datasets that the run reads: ``'train'``,
            ``'val'`` or ``'test'``.

    Returns:
        Runner: The runner.

    Raises:
        FileNotFoundError: If data or a checkpoint doesn't exist.
        ValueError: If the config lacks what the run needs, or the numbers of
            classes differ.
        OSError: If the work dir takes no files.
    """
    end_with_launcher()
    check_settings(cfg, splits)
    check_classes(cfg, splits)
    check_data(cfg, splits)
    check_checkpoint(cfg.get('load_from'), 'load_from')
    if 'train' in splits:
        check_pretrained(cfg)
    check_writable(cfg.work_dir)
    init_cpu_processes(cfg)
    read_own_checkpoints()
    build = RUNNERS.build if 'runner_type' in cfg else Runner.from_cfg
    with announce_afterwards():
        runner = build(cfg)
    for handler in runner.logger.handlers:
        if isinstance(handler, logging.FileHandler):
            # logging would print a traceback for every line
            handler.handleError = _raise_again  # type: ignore[method-assign]
    complete = 'train' not in splits or bool(cfg.get('resume'))
    runner.register_hook(MatchingKeysHook(complete), priority='VERY_LOW')
    if 'train' in splits:
        runner.register_hook(dict(type='mmstepnet.FiniteLossHook'))
    return runner
