# Copyright (c) mmstepnet contributors. All rights reserved.
from .annotations import sort_out
from .coco import StrictCocoDataset
from .image import BrokenImageError, LoadAnnotatedImage

__all__ = [
    'BrokenImageError', 'LoadAnnotatedImage', 'StrictCocoDataset', 'sort_out'
]
