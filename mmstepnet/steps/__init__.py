# Copyright (c) mmstepnet contributors. All rights reserved.
from .base import Step
from .builder import StepConfig, available_steps, build_step, step_class
from .constant import constant_step_size, make_constant
from .eca import ECA
from .inresnet import InResNet, LambdaInResNet
from .se import SE
from .sge import SGE
from .stepnet import StepNet
from .unit import Unit

__all__ = [
    'ECA', 'InResNet', 'LambdaInResNet', 'SE', 'SGE', 'Step', 'StepConfig',
    'StepNet', 'Unit', 'available_steps', 'build_step', 'constant_step_size',
    'make_constant', 'step_class'
]
