# Copyright (c) mmstepnet contributors. All rights reserved.
"""Child registries of MMEngine's roots.

A config of any OpenMMLab project builds ``type='mmstepnet.X'`` through them
without ``custom_imports``: the modules in ``locations`` are imported on the
first look-up.
"""
from .compat import require_mmengine

require_mmengine()

from mmengine.registry import DATASETS as MMENGINE_DATASETS  # noqa: E402
from mmengine.registry import HOOKS as MMENGINE_HOOKS  # noqa: E402
from mmengine.registry import LOOPS as MMENGINE_LOOPS  # noqa: E402
from mmengine.registry import MODELS as MMENGINE_MODELS  # noqa: E402
from mmengine.registry import \
    OPTIM_WRAPPERS as MMENGINE_OPTIM_WRAPPERS  # noqa: E402,E501
from mmengine.registry import \
    WEIGHT_INITIALIZERS as MMENGINE_WEIGHT_INITIALIZERS  # noqa: E402
from mmengine.registry import Registry  # noqa: E402

#: Backbones, steps and norms.
MODELS = Registry(
    'model',
    parent=MMENGINE_MODELS,
    scope='mmstepnet',
    locations=['mmstepnet.norms', 'mmstepnet.steps', 'mmstepnet.backbones'])
#: Hooks of the runner.
HOOKS = Registry(
    'hook',
    parent=MMENGINE_HOOKS,
    scope='mmstepnet',
    locations=['mmstepnet.hooks'])
#: Loops of the runner.
LOOPS = Registry(
    'loop',
    parent=MMENGINE_LOOPS,
    scope='mmstepnet',
    locations=['mmstepnet.engine'])
#: Datasets.
DATASETS = Registry(
    'dataset',
    parent=MMENGINE_DATASETS,
    scope='mmstepnet',
    locations=['mmstepnet.datasets'])
#: Wrappers of optimizers.
OPTIM_WRAPPERS = Registry(
    'optim_wrapper',
    parent=MMENGINE_OPTIM_WRAPPERS,
    scope='mmstepnet',
    locations=['mmstepnet.engine'])
#: Initializers, for ``init_cfg``.
WEIGHT_INITIALIZERS = Registry(
    'weight initializer',
    parent=MMENGINE_WEIGHT_INITIALIZERS,
    scope='mmstepnet',
    locations=['mmstepnet.checkpoints'])
