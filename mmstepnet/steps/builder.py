# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import List, Optional, Union

from mmstepnet.registry import MODELS
from .base import Step
from .unit import Unit

StepConfig = Union[str, dict, None]


def available_steps() -> List[str]:
    """Names of the registered steps.

    Example:
        >>> 'StepNet' in available_steps()
        True
    """
    MODELS.import_from_location()
    return sorted(name for name, module in MODELS.module_dict.items()
                  if isinstance(module, type) and issubclass(module, Step))


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
        ValueError: If the name is unknown or not that of a step.
        TypeError: If ``cfg`` is of another type or lacks ``type``.

    Example:
        >>> build_step(dict(type='mmstepnet.SE', ratio=8), 64).in_channels
        64
    """
    if cfg is None:
        return Unit(in_channels)
    if isinstance(cfg, str):
        cfg = dict(type=cfg)
    if not isinstance(cfg, dict) or 'type' not in cfg:
        raise TypeError('step must be a name, a config with the key "type" '
                        f'or None, got {cfg!r}')
    cfg = {key: value for key, value in cfg.items() if key != '_scope_'}
    kind = cfg.pop('type')
    cls = MODELS.get(kind) if isinstance(kind, str) else kind
    if not (isinstance(cls, type) and issubclass(cls, Step)):
        raise ValueError(f'step type must be one of {available_steps()} or '
                         f'a registered subclass of Step, got {kind!r}')
    return cls(in_channels, **cfg)
