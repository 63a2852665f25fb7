# Copyright (c) mmstepnet contributors. All rights reserved.
from .family import require_mmengine, warn_mixed_families
from .mmcv_ext import install_mmcv_ext_finder

__all__ = [
    'install_mmcv_ext_finder', 'require_mmengine', 'warn_mixed_families'
]
