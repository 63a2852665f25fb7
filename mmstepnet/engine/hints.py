# Copyright (c) mmstepnet contributors. All rights reserved.
"""What errors of MMEngine leave out: the names that would have been right."""
import re
import traceback
from typing import Optional

from mmengine.model import BaseModule
from mmengine.registry import Registry
from torch import Tensor

from mmstepnet.arguments import nearest, unknown_argument
from mmstepnet.steps import Step

_UNKNOWN_ARGUMENT = re.compile(
    r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
_UNKNOWN_TYPE = re.compile(r"'?(\S+) is not in the .+ registry\.")


def _built_from(error: BaseException) -> dict:
    """Variables of MMEngine while it built what failed, the innermost."""
    frames = [
        frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)
        if re.fullmatch('build_(.+_)?from_cfg', frame.f_code.co_name)
    ]
    return frames[-1] if frames else {}


def _called(error: BaseException, name: str) -> Optional[type]:
    """The class that the failing function was about to make."""
    frame = list(traceback.walk_tb(error.__traceback__))[-1][0]
    for value in frame.f_locals.values():
        if isinstance(value, type) and name in (base.__name__
                                                for base in value.__mro__):
            return value
    return None


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


def _wrong_step_size(error: BaseException) -> Optional[str]:
    """A sentence on a step size that does not fit the residual."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        step, size, residual = map(frame.f_locals.get,
                                   ('self', 'step_size', 'residual'))
        if isinstance(step, Step) and isinstance(size, Tensor) and isinstance(
                residual, Tensor) and not _broadcasts(size, residual):
            return (f'the step_size of {type(step).__name__} must have a '
                    "shape that broadcasts to the residual's, "
                    f'{tuple(residual.shape)}, got {tuple(size.shape)}')
    return None


def _broadcasts(size: Tensor, residual: Tensor) -> bool:
    return size.dim() <= residual.dim() and all(
        n in (1, m) for n, m in zip(size.shape[::-1], residual.shape[::-1]))


def _wrong_prefix(error: BaseException) -> Optional[str]:
    """A sentence on an ``init_cfg.prefix`` that no weight begins with."""
    frame = list(traceback.walk_tb(error.__traceback__))[-1][0]
    if frame.f_code.co_name != '_load_checkpoint_with_prefix':
        return None
    seen = frame.f_locals
    weights = seen['checkpoint'].get('state_dict', seen['checkpoint'])
    return (f'init_cfg.prefix must begin names in {seen["filename"]!r} such '
            f'as {next(iter(weights), None)!r}, got {seen["prefix"]!r}')


def explain_build(error: BaseException) -> Optional[str]:
    """A sentence on a wrong name or prefix, or a wrong step size.

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
    argument = _UNKNOWN_ARGUMENT.search(str(error))
    if isinstance(error, TypeError) and argument:
        cls = _called(error, argument[1])
        return None if cls is None else unknown_argument(cls, argument[2])
    kind = _UNKNOWN_TYPE.search(str(error))
    registry = _built_from(error).get('registry')
    if isinstance(error, KeyError) and kind and registry:
        return _unknown_type(kind[1], registry)
    if isinstance(error, AssertionError):
        return _wrong_prefix(error)
    return _wrong_step_size(error)


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
