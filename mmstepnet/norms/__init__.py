# Copyright (c) mmstepnet contributors. All rights reserved.
from .iebn import IEBN

__all__ = ['IEBN']
