# Copyright (c) mmstepnet contributors. All rights reserved.
from .family import installed_families


def find_mmseg_configs() -> None:
    """Let OneDL's MMEngine find the configs of MMSegmentation.

    It looks for the base ``'mmseg::...'`` in a distribution named
    ``mmsegmentation``, which OneDL's is not, unless it is told the name of
    the module.
    """
    from mmengine.config.utils import MODULE2PACKAGE
    if 'onedl' in installed_families():
        MODULE2PACKAGE['mmseg'] = 'mmseg'
