# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tests of the configs share."""
import copy
from functools import lru_cache
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.hub import get_config
from mmengine.registry import MODELS, DefaultScope

import mmstepnet  # noqa: F401  before MMDetection, in every process

REPO = Path(__file__).parents[2]
CONFIGS = REPO / 'configs'
_ALL = sorted(
    path.relative_to(CONFIGS).as_posix() for path in CONFIGS.rglob('*.py')
    if '_base_' not in path.parts)
#: Those for projects that needn't be installed; `test_projects` trains them.
PROJECTS = [name for name in _ALL if name.startswith('projects/')]
#: All others that a user runs, by their path below ``configs``.
NAMES = [name for name in _ALL if name not in PROJECTS]
STEPS = dict(plain=None, se='SE', eca='ECA', sge='SGE', stepnet='StepNet')


@lru_cache(maxsize=None)
def _read(name):
    if '::' in name:
        return get_config(name)
    return Config.fromfile(CONFIGS / name)


def load(name, **options):
    """The config, with options as ``--cfg-options`` gives them."""
    cfg = copy.deepcopy(_read(name))
    cfg.merge_from_dict(options)
    return cfg


def build(cfg, scope=None, device='meta'):
    """Build a part of a config as MMEngine's runner does."""
    with DefaultScope.overwrite_default_scope(scope), torch.device(device):
        return MODELS.build(cfg)


def count(module):
    return sum(p.numel() for p in module.parameters())


def without_scopes(cfg):
    """Plain containers, without the scope that MMEngine notes in bases."""
    if isinstance(cfg, Config):
        cfg = cfg.to_dict()
    if isinstance(cfg, dict):
        return {
            key: without_scopes(value)
            for key, value in cfg.items() if key != '_scope_'
        }
    if isinstance(cfg, (list, tuple)):
        return [without_scopes(value) for value in cfg]
    return cfg
