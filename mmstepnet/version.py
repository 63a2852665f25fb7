# Copyright (c) mmstepnet contributors. All rights reserved.
__version__ = '0.1.0'
