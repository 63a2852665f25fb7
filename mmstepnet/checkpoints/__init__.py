# Copyright (c) mmstepnet contributors. All rights reserved.
from .loading import load_weights, read_checkpoint
from .model import load_model
from .names import our_names, step_configs
from .warm import WarmStart, WarmStartReport, warm_start

__all__ = [
    'WarmStart', 'WarmStartReport', 'load_model', 'load_weights', 'our_names',
    'read_checkpoint', 'step_configs', 'warm_start'
]
