# Copyright (c) mmstepnet contributors. All rights reserved.
from .asr import ASR
from .base import Step
from .builder import StepConfig, available_steps, build_step, step_class
from .cbam import CBAM
from .constant import constant_step_size, make_constant, require_input_weights
from .eca import ECA
from .fca import FCA
from .ie import IE
from .inresnet import InResNet, LambdaInResNet
from .se import SE
from .sem import SEM
from .sge import SGE
from .srm import SRM
from .stepnet import StepNet
from .unit import Unit

__all__ = [
    'ASR', 'CBAM', 'ECA', 'FCA', 'IE', 'InResNet', 'LambdaInResNet', 'SE',
    'SEM', 'SGE', 'SRM', 'Step', 'StepConfig', 'StepNet', 'Unit',
    'available_steps', 'build_step', 'constant_step_size', 'make_constant',
    'require_input_weights', 'step_class'
]
