# Copyright (c) mmstepnet contributors. All rights reserved.
"""Which of the two software families is installed, OneDL or OpenMMLab.

Both install the same top-level folders (``mmengine``, ``mmcv``, ``mmdet``,
``mmpretrain``), so only one of them can work in one environment.
"""
import warnings
from importlib import metadata, util
from typing import Dict, List

FAMILIES: Dict[str, tuple] = {
    'onedl':
    ('onedl-mmengine', 'onedl-mmcv', 'onedl-mmdetection', 'onedl-mmpretrain'),
    'openmmlab':
    ('mmengine', 'mmengine-lite', 'mmcv', 'mmcv-lite', 'mmdet', 'mmpretrain'),
}


def _is_installed(distribution: str) -> bool:
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def installed_families() -> Dict[str, List[str]]:
    """Distributions found in this environment, by family.

    Returns:
        dict[str, list[str]]: Family name to the names of its installed
        distributions; a family with none is absent.
    """
    found = {
        family: [name for name in names if _is_installed(name)]
        for family, names in FAMILIES.items()
    }
    return {family: names for family, names in found.items() if names}


def warn_mixed_families() -> None:
    """Warn where distributions of both families overwrite each other."""
    found = installed_families()
    if len(found) > 1:
        names = ' and '.join(', '.join(names) for names in found.values())
        warnings.warn(
            f'mmstepnet expects one software family, got both: {names} '
            'install into the same folders, and the last one installed wins; '
            'uninstall all of them, then install one family with '
            '`pip install "mmstepnet[onedl]"`.')


def warn_missing_pkg_resources() -> None:
    """Warn where OpenMMLab's MMEngine will not find ``pkg_resources``.

    It imports it when a config names a base of another package, and
    setuptools has dropped it.
    """
    found = installed_families()
    if 'openmmlab' in found and util.find_spec('pkg_resources') is None:
        warnings.warn(
            "OpenMMLab's MMEngine needs pkg_resources to read configs, and "
            'the installed setuptools has none: run '
            '`pip install "setuptools<81"`.')


def require_mmengine() -> None:
    """Check that MMEngine can be imported.

    Raises:
        ImportError: If neither family is installed.
    """
    if util.find_spec('mmengine') is None:
        raise ImportError(
            'mmstepnet needs MMEngine, and neither software family is '
            'installed: expected onedl-mmengine (`pip install '
            '"mmstepnet[onedl]"`) or mmengine (`pip install '
            '"mmstepnet[openmmlab]"`).')
