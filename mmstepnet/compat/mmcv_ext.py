# Copyright (c) mmstepnet contributors. All rights reserved.
"""Serve ``mmcv._ext`` from torchvision where mmcv has no compiled operators.

``import mmcv.ops`` loads the extension module ``mmcv._ext``, which mmcv-lite
and a source build without torch lack. A finder at the end of
``sys.meta_path`` answers for that one name, so it is only asked when nothing
else, such as a compiled mmcv, has it.

The finder is installed by ``import mmstepnet`` and must be there before
MMDetection is: MMDetection's modules import ``mmcv.ops`` once, and give up on
their operators (OneDL) or fail (OpenMMLab) where that is impossible. The
tools of this package see to it. ``type='mmstepnet.X'`` in a config is too
late, because MMDetection loads its detectors before their parts are looked
up; with a tool of another project, add
``custom_imports = dict(imports=['mmstepnet'])`` to the config.
"""
import sys
import warnings
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Callable, Iterator, NoReturn, Optional

from .family import installed_families

EXTENSION = 'mmcv._ext'
_COMPILED = {
    'onedl':
    '`pip install --no-build-isolation --no-deps --no-cache-dir '
    '--force-reinstall onedl-mmcv`, which compiles against the installed '
    'torch',
    'openmmlab':
    '`pip uninstall mmcv-lite`, then `mim install mmcv==2.1.0`',
}


def _how_to_compile() -> str:
    families = installed_families() or _COMPILED
    return ' or '.join(_COMPILED[family] for family in families)


def _unserved_operator(name: str) -> Callable[..., NoReturn]:
    """The module's ``__getattr__``: any name is an operator that raises."""
    if name.startswith('_'):
        raise AttributeError(f'module {EXTENSION!r} has no attribute {name!r}')

    def operator(*args, **kwargs) -> NoReturn:
        raise NotImplementedError(
            f'the mmcv operator {name!r} needs a compiled mmcv: this one has '
            'no compiled operators, and mmstepnet serves only nms and '
            'roi_align from torchvision; to get them all, run '
            f'{_how_to_compile()}')

    operator.__name__ = operator.__qualname__ = name
    return operator


class _TorchvisionLoader(Loader):
    announces = True

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from . import torchvision_ops
        for name in torchvision_ops.__all__:
            setattr(module, name, getattr(torchvision_ops, name))
        setattr(module, '__getattr__', _unserved_operator)
        if self.announces:
            _announce()


def _announce() -> None:
    from mmengine.logging import print_log
    print_log(
        'mmcv has no compiled operators: nms and roi_align come from '
        'torchvision, any other operator raises an error when called.',
        logger='current')


@contextmanager
def announce_afterwards() -> Iterator[None]:
    """Hold the announcement back until the block ends.

    MMEngine's runner imports ``mmcv.ops`` before it has its log file.
    """
    served_before = EXTENSION in sys.modules
    _TorchvisionLoader.announces = False
    try:
        yield
    finally:
        _TorchvisionLoader.announces = True
    extension = sys.modules.get(EXTENSION)
    if not served_before and isinstance(
            getattr(extension, '__loader__', None), _TorchvisionLoader):
        _announce()


class MMCVExtFinder(MetaPathFinder):
    """Finds ``mmcv._ext`` and nothing else."""

    def find_spec(self,
                  fullname: str,
                  path=None,
                  target=None) -> Optional[ModuleSpec]:
        if fullname != EXTENSION:
            return None
        return ModuleSpec(fullname, _TorchvisionLoader(), origin=__name__)


def install_mmcv_ext_finder() -> None:
    """Append the finder to ``sys.meta_path``, once.

    Nothing is imported here. Warns if MMDetection has been imported already
    and found no operators.

    Example:
        >>> install_mmcv_ext_finder()
        >>> install_mmcv_ext_finder()
        >>> sum(isinstance(f, MMCVExtFinder) for f in sys.meta_path)
        1
    """
    if any(isinstance(finder, MMCVExtFinder) for finder in sys.meta_path):
        return
    sys.meta_path.append(MMCVExtFinder())
    if 'mmdet.structures' in sys.modules and 'mmcv.ops' not in sys.modules:
        warnings.warn(
            'mmdet was imported before mmstepnet and found no mmcv operators; '
            'import mmstepnet first, or add '
            "custom_imports=dict(imports=['mmstepnet']) to the config.")
