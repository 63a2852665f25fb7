# Copyright (c) mmstepnet contributors. All rights reserved.
from .coco import StrictCocoDataset

__all__ = ['StrictCocoDataset']
