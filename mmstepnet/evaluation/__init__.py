# Copyright (c) mmstepnet contributors. All rights reserved.
"""What attacks and analyses share: classifiers, images, resumable work."""
from .classifier import Ensemble, PixelClassifier
from .images import PixelBatch, PixelBatches
from .pieces import map_pieces

__all__ = [
    'Ensemble', 'PixelBatch', 'PixelBatches', 'PixelClassifier', 'map_pieces'
]
