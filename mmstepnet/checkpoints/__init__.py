# Copyright (c) mmstepnet contributors. All rights reserved.
from .loading import load_weights
from .names import our_names, step_configs
from .warm import WarmStart, WarmStartReport, warm_start

__all__ = [
    'WarmStart', 'WarmStartReport', 'load_weights', 'our_names',
    'step_configs', 'warm_start'
]
