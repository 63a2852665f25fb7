# Copyright (c) mmstepnet contributors. All rights reserved.
from .tns_hook import TNSHook

__all__ = ['TNSHook']
