# Copyright (c) mmstepnet contributors. All rights reserved.
"""What errors of MMEngine leave out: the names that would have been right."""
import re
import traceback
from typing import Optional

from mmengine.model import BaseModule
from mmengine.registry import Registry

from mmstepnet.arguments import nearest, unknown_argument

_UNKNOWN_ARGUMENT = re.compile(r"got an unexpected keyword argument '(\w+)'")
_UNKNOWN_TYPE = re.compile(r"'?(\S+) is not in the \S+ registry")


def _built_from(error: BaseException) -> dict:
    """Variables of MMEngine while it built what failed, the innermost."""
    frames = [
        frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name == 'build_from_cfg'
    ]
    return frames[-1] if frames else {}


def _unknown_type(name: str, registry: Registry) -> str:
    scope, _, bare = name.rpartition('.')
    root = registry
    while root.parent is not None:
        root = root.parent
    place = root.children.get(scope, registry) if scope else registry
    known = set(place.module_dict)
    while not scope and place.parent is not None:
        place = place.parent
        known |= set(place.module_dict)
    hint = nearest(bare, sorted(known))
    return (f'{name!r} is no registered {registry.name}{hint}: expected one '
            f'of the {len(known)} names known to {scope or registry.scope!r}, '
            "or another one with its scope, as in 'mmstepnet.NAME'")


def explain_build(error: BaseException) -> Optional[str]:
    """A sentence on a wrong name in the config of what failed to build.

    Args:
        error (BaseException): An error with its traceback.

    Returns:
        str, optional: The sentence, None if it is about something else.

    Example:
        >>> from mmengine.registry import HOOKS
        >>> try:
        ...     HOOKS.build(dict(type='LoggerHook', intervall=1))
        ... except TypeError as error:
        ...     print(explain_build(error)[:66])
        LoggerHook has no argument 'intervall' (did you mean 'interval'?):
    """
    built = _built_from(error)
    text = str(error)
    argument = _UNKNOWN_ARGUMENT.search(text)
    cls = built.get('obj_cls')
    if isinstance(error, TypeError) and argument and isinstance(
            cls, type) and cls.__name__ in text:
        return unknown_argument(cls, argument[1])
    kind = _UNKNOWN_TYPE.search(text)
    if isinstance(error, KeyError) and kind and built.get('registry'):
        return _unknown_type(kind[1], built['registry'])
    return None


def where(error: BaseException) -> str:
    """A remark on what was being built or run when an error came up."""
    cls = _built_from(error).get('obj_cls')
    if isinstance(cls, type):
        return f', while building {cls.__name__}'
    modules = [
        type(frame.f_locals['self']).__name__
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if isinstance(frame.f_locals.get('self'), BaseModule)
    ]
    return f', in {modules[-1]}' if modules else ''


def is_ours(error: BaseException) -> bool:
    """Whether this package has raised an error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and str(
        frames[-1][0].f_globals.get('__name__')).startswith('mmstepnet.')
