# Copyright (c) mmstepnet contributors. All rights reserved.
from .checkpoint_hook import ResumableCheckpointHook
from .fold_hook import FoldStepsHook
from .loss_hook import FiniteLossHook
from .stop_hook import StopHook
from .tns_hook import TNSHook

__all__ = [
    'FiniteLossHook', 'FoldStepsHook', 'ResumableCheckpointHook', 'StopHook',
    'TNSHook'
]
