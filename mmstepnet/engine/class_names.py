# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import os.path as osp
from typing import Iterator, Sequence, Tuple

from mmengine.config import Config

from mmstepnet.arguments import short
from .checks import dataset_paths, datasets_of


def _num_classes(cfg, key: str) -> Iterator[Tuple[str, int]]:
    """Numbers of classes of the heads of a model, with their keys."""
    if isinstance(cfg, (list, tuple)):
        for i, value in enumerate(cfg):
            yield from _num_classes(value, f'{key}[{i}]')
    elif isinstance(cfg, dict):
        if isinstance(cfg.get('num_classes'), int):
            yield f'{key}.num_classes', cfg['num_classes']
        for name in ('head', 'roi_head', 'bbox_head', 'mask_head'):
            yield from _num_classes(cfg.get(name), f'{key}.{name}')


def _check_folders(dataset: dict, key: str, classes: Sequence) -> None:
    paths = dict(dataset_paths(dataset))
    prefixes = ('data_prefix', 'data_prefix.img_path', 'data_root')
    root = next((paths[name] for name in prefixes if name in paths), '')
    is_by_folder = str(dataset.get('type')).endswith('CustomDataset') and \
        dataset.get('with_label', True) and 'ann_file' not in paths
    if not (is_by_folder and osp.isdir(root)):
        return
    folders = sorted(
        entry.name for entry in os.scandir(root) if entry.is_dir())
    if len(classes) != len(folders):
        raise ValueError(
            f'{key}.metainfo.classes must name the {len(folders)} folders of '
            f'{root!r}, {short(folders)}, got {len(classes)} names, '
            f'{short(list(classes))}')
    for name, folder in zip(classes, folders):
        if name != folder and name in folders:
            raise ValueError(
                f'{key}.metainfo.classes must be in the order of the folders '
                f'of {root!r}, {short(folders)}, got {short(list(classes))}')


def check_classes(cfg: Config, splits: Sequence[str]) -> None:
    """Check that a model has the classes that its datasets name.

    Classes of a ``CustomDataset`` without an annotation file are its folders,
    in the order of their names. Where classes have the names of folders, they
    have to be in that order, too.

    Args:
        cfg (Config): Config of the run.
        splits (Sequence[str]): ``'train'``, ``'val'`` or ``'test'``.

    Raises:
        ValueError: If their numbers or the order differ.

    Example:
        >>> check_classes(Config(dict(
        ...     model=dict(head=dict(num_classes=2)),
        ...     train_dataloader=dict(dataset=dict(
        ...         metainfo=dict(classes=('cat', ))))), ), ['train'])
        Traceback (most recent call last):
        ...
        ValueError: model.head.num_classes is 2, but ...
    """
    for split in splits:
        for key, dataset in datasets_of(cfg, split):
            classes = (dataset.get('metainfo') or {}).get('classes')
            if not isinstance(classes, (list, tuple)):
                continue
            for head, number in _num_classes(cfg.get('model'), 'model'):
                if number != len(classes):
                    raise ValueError(
                        f'{head} is {number}, but {key}.metainfo.classes has '
                        f'{len(classes)} names, {short(classes)}: expected as '
                        'many')
            _check_folders(dataset, key, classes)
