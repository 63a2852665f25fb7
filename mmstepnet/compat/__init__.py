# Copyright (c) mmstepnet contributors. All rights reserved.
from .checkpoints import read_own_checkpoints
from .configs import find_mmseg_configs
from .family import (require_mmengine, warn_missing_pkg_resources,
                     warn_mixed_families)
from .mmcv_ext import announce_afterwards, install_mmcv_ext_finder

__all__ = [
    'announce_afterwards', 'find_mmseg_configs', 'install_mmcv_ext_finder',
    'read_own_checkpoints', 'require_mmengine', 'warn_missing_pkg_resources',
    'warn_mixed_families'
]
