# Copyright (c) mmstepnet contributors. All rights reserved.
"""Reading config files, and what their mistakes are told."""
import inspect
import os.path as osp
import traceback
from typing import Any, Iterator, List, Optional

from mmengine.config import Config
from mmengine.runner import Runner
from mmengine.utils import import_modules_from_strings

from mmstepnet.arguments import nearest, short
from mmstepnet.compat import find_mmseg_configs

SUFFIXES = ('.py', '.json', '.yaml', '.yml')
# Read from the config by runners and tools, beside the runner's arguments.
_READ_LATER = ('activation_checkpointing', 'compile', 'custom_imports',
               'efficient_conv_bn_eval', 'find_unused_parameters',
               'model_wrapper_cfg', 'runner_type', 'sync_bn', 'tta_model',
               'tta_pipeline')


def _bases(path: str) -> List[str]:
    try:
        names = Config._get_base_files(path)
    except Exception:  # reading the config says what is wrong with it
        return []
    return [
        osp.normpath(osp.join(osp.dirname(path), name)) for name in names
        if isinstance(name, str) and '::' not in name
    ]


def _refuse_cycle(path: str, chain: tuple = ()) -> None:
    if path in chain:
        names = [*chain[chain.index(path):], path]
        raise ValueError('a config must not include itself through _base_, '
                         f'got {" -> ".join(map(repr, names))}')
    if osp.isfile(path):
        for base in _bases(path):
            _refuse_cycle(base, (*chain, path))


def _line_of(error: BaseException) -> str:
    """Where in a config file an error came up."""
    places = [
        f' in line {line} of {frame.f_code.co_filename!r}'
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name == '<module>' and '_base_' in frame.f_globals
    ]
    return places[-1] if places else ''


def _places(value: Any, cfg: Any, key: str) -> Iterator[str]:
    """Keys below ``key`` that hold a value, or a text that contains it."""
    if cfg == value or (isinstance(value, str) and isinstance(cfg, str)
                        and value and value in cfg):
        yield key
    elif isinstance(cfg, dict):
        for name, item in cfg.items():
            yield from _places(value, item, f'{key}.{name}')
    elif isinstance(cfg, (list, tuple)):
        for i, item in enumerate(cfg):
            yield from _places(value, item, f'{key}.{i}')


def _check_option(cfg: Config, key: str) -> None:
    """Refuse an option that would have no effect."""
    known = {*inspect.signature(Runner).parameters, *_READ_LATER}
    name = key.split('.')[0]
    if name in known:
        return
    if name not in cfg:
        raise ValueError(
            f'--cfg-options sets {key!r}, but neither the config nor the '
            f'runner knows {name!r}{nearest(name, known | set(cfg))}: '
            f'expected one of {", ".join(sorted(known & set(cfg)))}')
    value = cfg[name]
    if isinstance(value, (bool, int, float, type(None))) or not value:
        return
    places = [
        place for other in sorted(known & set(cfg))
        for place in _places(value, cfg[other], other)
    ]
    if places:
        more = f' and {len(places) - 3} more' if len(places) > 3 else ''
        raise ValueError(
            f'--cfg-options cannot change {name!r}, a variable that the '
            f'config has copied to {", ".join(places[:3])}{more} by then: '
            'set those, or edit the config file')


def _import_modules(path: str, imports: Any) -> None:
    """Import what ``custom_imports`` of a config names."""
    if not isinstance(imports, dict):
        raise ValueError('custom_imports of the config must be a dict with '
                         f"a list of modules as 'imports', got {imports!r}")
    try:
        import_modules_from_strings(**imports)
    except Exception as error:
        cause = error.__context__ if isinstance(error, ImportError) else error
        hint = "; a module's folder has to be in PYTHONPATH" \
            if isinstance(cause, ModuleNotFoundError) else ''
        text = ' '.join(str(cause).split())
        raise ValueError(
            f'the config {path!r} cannot import {short(imports)}: '
            f'{type(cause).__name__}, {text[:300]}{hint}') from error


def read_config(path: str, options: Optional[dict] = None) -> Config:
    """Read a config file and override some of its settings.

    Args:
        path (str): The file.
        options (dict, optional): Values by their dotted keys, as
            ``--cfg-options`` gives them.

    Returns:
        Config: The config.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file can't be read, is empty, an option names
            nothing that has an effect, or a module can't be imported.

    Example:
        >>> read_config('none.py')
        Traceback (most recent call last):
        ...
        FileNotFoundError: there is no config file 'none.py' in ...
    """
    if not osp.isfile(path):
        where = '' if osp.isabs(path) else f' in {osp.abspath(".")!r}'
        raise FileNotFoundError(f'there is no config file {path!r}{where}')
    if not path.endswith(SUFFIXES):
        raise ValueError(
            f'a config file must end in one of {SUFFIXES}, got {path!r}')
    _refuse_cycle(osp.abspath(path))
    find_mmseg_configs()
    try:
        cfg = Config.fromfile(path, import_custom_modules=False)
    except Exception as error:
        text = ' '.join(str(error).split())
        raise ValueError(f'the config {path!r} cannot be read: '
                         f'{type(error).__name__}{_line_of(error)}, '
                         f'{text[:300]}') from error
    if not len(cfg):
        raise ValueError(f'the config {path!r} is empty: expected settings '
                         'such as model')
    for key in options or {}:
        _check_option(cfg, key)
    try:
        cfg.merge_from_dict(options or {})
    except Exception as error:
        text = ' '.join(str(error).split())
        raise ValueError(f'--cfg-options {short(options)} does not fit the '
                         f'config: {text[:160]}') from error
    if cfg.get('custom_imports'):
        _import_modules(path, cfg.custom_imports)
    return cfg
