# Copyright (c) mmstepnet contributors. All rights reserved.
"""Residual networks whose blocks take a *step*: StepNet and its neighbours.

Importing this package is light: it loads neither MMDetection nor compiled
operators. The registries in :mod:`mmstepnet.registry` import the rest when a
config asks for it.
"""
from .compat import (install_mmcv_ext_finder, warn_missing_pkg_resources,
                     warn_mixed_families)
from .version import __version__

warn_mixed_families()
warn_missing_pkg_resources()
install_mmcv_ext_finder()

__all__ = ['__version__']
