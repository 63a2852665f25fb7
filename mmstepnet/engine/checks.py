# Copyright (c) mmstepnet contributors. All rights reserved.
"""Mistakes of a config that can be named before anything is built."""
import os.path as osp
from typing import Any, Iterator, Optional, Sequence, Tuple

import torch
from mmengine.config import Config
from mmengine.registry import OPTIMIZERS, DefaultScope

from mmstepnet.arguments import (NonNegative, NonNegativeNumber, Positive,
                                 check_value, nearest, short)
from mmstepnet.registry import MODELS

# They fetch their files themselves unless told not to.
_DOWNLOADED = ('CIFAR10', 'CIFAR100', 'MNIST', 'FashionMNIST')


def _is_remote(path: str) -> bool:
    return '://' in path


def _nested(cfg: dict, key: str) -> Iterator[Tuple[str, dict]]:
    yield key, cfg
    if isinstance(cfg.get('dataset'), dict):
        yield from _nested(cfg['dataset'], f'{key}.dataset')
    for i, dataset in enumerate(cfg.get('datasets') or []):
        if isinstance(dataset, dict):
            yield from _nested(dataset, f'{key}.datasets[{i}]')


def datasets_of(cfg: Config, split: str) -> Iterator[Tuple[str, dict]]:
    """The dataset of a split and those that it wraps.

    Args:
        cfg (Config): Config of the run.
        split (str): ``'train'``, ``'val'`` or ``'test'``.

    Yields:
        tuple[str, dict]: Config key and config of each.
    """
    loader = cfg.get(f'{split}_dataloader') or {}
    yield from _nested(
        loader.get('dataset') or {}, f'{split}_dataloader.dataset')


def dataset_paths(cfg: dict) -> Iterator[Tuple[str, str]]:
    """The paths of a dataset, joined with ``data_root``.

    Args:
        cfg (dict): Config of the dataset.

    Yields:
        tuple[str, str]: Config key and path of each that is not empty.
    """
    root = cfg.get('data_root') or ''
    if root:
        yield 'data_root', root
    prefix = cfg.get('data_prefix')
    if not isinstance(prefix, dict):
        prefix = {'': prefix}
    named = {'ann_file': cfg.get('ann_file')}
    named.update({
        f'data_prefix.{name}'.rstrip('.'): path
        for name, path in prefix.items()
    })
    for name, path in named.items():
        if isinstance(path, str) and path:
            yield name, path if _is_remote(path) else osp.join(root, path)


def _reads_remotely(dataset: dict) -> bool:
    backend = dataset.get('backend_args') or {}
    return backend.get('backend', 'local') not in ('local', 'disk')


def _fetches_itself(dataset: dict) -> bool:
    name = str(dataset.get('type')).rsplit('.', 1)[-1]
    return name in _DOWNLOADED and dataset.get('download', True)


def _data_paths(cfg: Config, split: str) -> Iterator[Tuple[str, str]]:
    for key, dataset in datasets_of(cfg, split):
        if not (_reads_remotely(dataset) or _fetches_itself(dataset)):
            for name, path in dataset_paths(dataset):
                yield f'{key}.{name}', path
    evaluators = cfg.get(f'{split}_evaluator') or []
    if isinstance(evaluators, dict):
        evaluators = [evaluators]
    for evaluator in evaluators:
        path = evaluator.get('ann_file')
        if path and not _reads_remotely(evaluator):
            yield f'{split}_evaluator.ann_file', path


_TYPES = {
    'custom_hooks': Sequence[dict],
    'optim_wrapper.optimizer.lr': NonNegativeNumber,
    'randomness.seed': int,
    'train_cfg.max_epochs': Positive,
    'train_cfg.max_iters': Positive,
    'train_cfg.val_interval': Positive,
    'train_dataloader.batch_size': Positive,
    'val_dataloader.batch_size': Positive,
    'test_dataloader.batch_size': Positive,
    'train_dataloader.num_workers': NonNegative,
    'val_dataloader.num_workers': NonNegative,
    'test_dataloader.num_workers': NonNegative,
}


def check_settings(cfg: Config, splits: Sequence[str]) -> None:
    """Check that a config has what a run needs.

    Args:
        cfg (Config): Config of the run.
        splits (Sequence[str]): ``'train'``, ``'val'`` or ``'test'``.

    Raises:
        TypeError: If a number or list is of another type.
        ValueError: If the model or what the first split needs is missing or
            no dict, if a number is out of range, if images would be divided
            by zero, or if there is no such optimizer.
    """
    keys = ['model', f'{splits[0]}_dataloader', f'{splits[0]}_cfg']
    if splits[0] == 'train':
        keys.append('optim_wrapper')
    for key in keys:
        if not isinstance(cfg.get(key), dict):
            raise ValueError(f'{key} of the config must be a dict, got '
                             f'{short(cfg.get(key))}')
    for key, hint in _TYPES.items():
        value: Any = cfg
        for name in key.split('.'):
            value = value.get(name) if hasattr(value, 'get') else None
        if value is not None:
            check_value(key, value, hint)
    _check_std(cfg.get('data_preprocessor'), 'data_preprocessor')
    _check_std(cfg.model.get('data_preprocessor'), 'model.data_preprocessor')
    if splits[0] == 'train':
        _check_optimizer(cfg)


def _check_std(preprocessor: Any, key: str) -> None:
    std = preprocessor.get('std') if isinstance(preprocessor, dict) else None
    if isinstance(std, (list, tuple)) and not all(
            value > 0 for value in std if isinstance(value, (int, float))):
        raise ValueError(
            f'{key}.std must be positive numbers, got {short(std)}')


def _check_optimizer(cfg: Config) -> None:
    kind = (cfg.optim_wrapper.get('optimizer') or {}).get('type')
    with DefaultScope.overwrite_default_scope(
            cfg.get('default_scope', 'mmengine')):
        if isinstance(kind, str) and OPTIMIZERS.get(kind) is None:
            hint = nearest(kind, OPTIMIZERS.module_dict)
            raise ValueError('optim_wrapper.optimizer.type must be a '
                             f'registered optimizer, got {kind!r}{hint}')


def _try_model(cfg: Config) -> None:
    """Build the model, for the errors of its settings."""
    if 'model' in cfg:
        with DefaultScope.overwrite_default_scope(
                cfg.get('default_scope', 'mmengine')):
            MODELS.build(cfg.model)


def check_data(cfg: Config, splits: Sequence[str]) -> None:
    """Check that the files and folders of the datasets exist.

    Datasets in other places than local folders, and those that download
    themselves, are left to their own checks. Where one is missing, a mistake
    in the model is told first.

    Args:
        cfg (Config): Config of the run.
        splits (Sequence[str]): ``'train'``, ``'val'`` or ``'test'``.

    Raises:
        FileNotFoundError: If a path doesn't exist; names it and its key.

    Example:
        >>> check_data(Config(dict(train_dataloader=dict(dataset=dict(
        ...     data_root='nowhere/')))), ['train'])
        Traceback (most recent call last):
        ...
        FileNotFoundError: train_dataloader.dataset.data_root ...
    """
    for split in splits:
        for key, path in _data_paths(cfg, split):
            if not _is_remote(path) and not osp.exists(path):
                _try_model(cfg)
                raise FileNotFoundError(
                    f'{key} of the config names a path that does not exist: '
                    f'{path!r}, looked up from {osp.abspath(".")!r}')


def check_device(name: str) -> None:
    """Check that this machine has a device.

    Args:
        name (str): The device, as ``torch.device`` takes it.

    Raises:
        ValueError: If there is none of that name.
    """
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        raise ValueError(
            f'--device must be cpu or one of the {torch.cuda.device_count()} '
            f'GPUs of this machine, got {name!r}') from error


def check_checkpoint(path: Optional[str], key: str) -> None:
    """Check that a local checkpoint exists and looks like one.

    Args:
        path (str, optional): Path or address of the checkpoint.
        key (str): What names it, for the message.

    Raises:
        FileNotFoundError: If it doesn't exist.
        ValueError: If it is neither a zip archive nor a pickle.
    """
    if not path or _is_remote(path):
        return
    if not osp.isfile(path):
        raise FileNotFoundError(
            f'{key} names a checkpoint that does not exist: {path!r}')
    with open(path, 'rb') as file:
        start = file.read(2)
    if start != b'PK' and start[:1] != b'\x80':
        raise ValueError(f'{key} names a file that is no PyTorch checkpoint: '
                         f'{path!r} begins with {start!r}')


def _pretrained(cfg, key: str) -> Iterator[Tuple[str, str]]:
    """Checkpoints of every ``init_cfg``, with their config keys."""
    if isinstance(cfg, dict):
        if str(cfg.get('type')).endswith('Pretrained') and isinstance(
                cfg.get('checkpoint'), str):
            yield f'{key}.checkpoint', cfg['checkpoint']
        for name, value in cfg.items():
            yield from _pretrained(value, f'{key}.{name}')
    elif isinstance(cfg, (list, tuple)):
        for i, value in enumerate(cfg):
            yield from _pretrained(value, f'{key}[{i}]')


def check_pretrained(cfg: Config) -> None:
    """Check that the checkpoints that the model starts from exist.

    Args:
        cfg (Config): Config of the run.

    Raises:
        FileNotFoundError: If one doesn't exist.
    """
    for key, path in _pretrained(cfg.get('model'), 'model'):
        check_checkpoint(path, key)
