# Copyright (c) mmstepnet contributors. All rights reserved.
from .checkpoint_hook import ResumableCheckpointHook
from .fold_hook import FoldStepsHook
from .stop_hook import StopHook
from .tns_hook import TNSHook

__all__ = ['FoldStepsHook', 'ResumableCheckpointHook', 'StopHook', 'TNSHook']
