# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import List, Optional, Type, Union

from mmstepnet.arguments import nearest
from mmstepnet.registry import MODELS
from .base import Step
from .unit import Unit

#: A step in a config: its type or the name of it, a dict with it, or None.
StepConfig = Union[str, dict, type, None]


def available_steps() -> List[str]:
    """Names of the registered steps.

    Example:
        >>> 'StepNet' in available_steps()
        True
    """
    MODELS.import_from_location()
    return sorted(name for name, module in MODELS.module_dict.items()
                  if isinstance(module, type) and issubclass(module, Step))


def _find(name: str) -> Optional[type]:
    try:
        return MODELS.get(name)
    except (ImportError, RuntimeError):  # not a name at all
        return None


def step_class(cfg: StepConfig) -> Type[Step]:
    """The class that a step's config names.

    Args:
        cfg (str | dict, optional): Name or config of the step.

    Returns:
        type[Step]: The class; :class:`Unit` for None.

    Raises:
        ValueError: If the name is unknown or not that of a step.
        TypeError: If ``cfg`` is of another type or lacks ``type``.

    Example:
        >>> step_class('mmstepnet.SE').__name__
        'SE'
    """
    if cfg is None:
        return Unit
    kind = cfg.get('type') if isinstance(cfg, dict) else cfg
    if kind is None or not isinstance(kind, (str, type)):
        raise TypeError('step must be a name, a config with the key "type" '
                        f'or None, got {cfg!r}')
    cls = _find(kind) if isinstance(kind, str) else kind
    if not (isinstance(cls, type) and issubclass(cls, Step)):
        known = available_steps()
        name = str(kind).rsplit('.', 1)[-1]
        raise ValueError(f'step type must be one of {known} or a registered '
                         f'subclass of Step, got {kind!r}'
                         f'{nearest(name, known)}')
    return cls


def build_step(cfg: StepConfig, in_channels: int) -> Step:
    """Build a step for a block of ``in_channels`` output channels.

    The name is looked up here and not in the default scope, so ``'SE'`` and
    ``'mmstepnet.SE'`` mean the same in every OpenMMLab project.

    Args:
        cfg (str | dict, optional): Name or config of the step. None builds
            :class:`Unit`.
        in_channels (int): Channels of the block's output.

    Returns:
        Step: The step.

    Raises:
        ValueError: If the name is unknown, not that of a step, or a setting
            doesn't fit.
        TypeError: If ``cfg`` is of another type, lacks ``type`` or has a key
            that the step doesn't know.

    Example:
        >>> build_step(dict(type='mmstepnet.SE', ratio=8), 64).in_channels
        64
    """
    cls = step_class(cfg)
    options = dict(cfg) if isinstance(cfg, dict) else {}
    for key in ('type', '_scope_'):
        options.pop(key, None)
    return cls(in_channels, **options)
