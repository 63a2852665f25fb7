# Copyright (c) mmstepnet contributors. All rights reserved.
from .base import Step
from .builder import StepConfig, available_steps, build_step, step_class
from .eca import ECA
from .se import SE
from .sge import SGE
from .stepnet import StepNet
from .unit import Unit

__all__ = [
    'ECA', 'SE', 'SGE', 'Step', 'StepConfig', 'StepNet', 'Unit',
    'available_steps', 'build_step', 'step_class'
]
