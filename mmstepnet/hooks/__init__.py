# Copyright (c) mmstepnet contributors. All rights reserved.
from .fold_hook import FoldStepsHook
from .tns_hook import TNSHook

__all__ = ['FoldStepsHook', 'TNSHook']
