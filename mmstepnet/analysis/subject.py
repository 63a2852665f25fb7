# Copyright (c) mmstepnet contributors. All rights reserved.
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from mmstepnet.evaluation import (PixelBatch, PixelBatches, PixelClassifier,
                                  map_pieces)
from mmstepnet.robustness import image_generators
from mmstepnet.robustness.attacks import Loss


@dataclass
class Subject:
    """What is analysed, and where the parts of the result are kept.

    Attributes:
        classifier (PixelClassifier): The classifier, in eval mode.
        batches (PixelBatches): The images.
        folder (str): Folder of the partial results.
        settings (dict): What tells this subject from others, such as the
            checkpoint.
        seed (int): Seed of random directions and vectors.
        device (torch.device): Device of the classifier.
    """
    classifier: PixelClassifier
    batches: PixelBatches
    folder: str
    settings: Dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: torch.device = torch.device('cpu')

    def map_batches(self, function: Callable[[PixelBatch], Any],
                    **settings: Any) -> List[Any]:
        """Apply a function to every batch, see ``map_pieces``."""
        return map_pieces(
            lambda batch: function(batch.to(self.device)),
            len(self.batches),
            self.folder,
            settings=self.all_settings(**settings),
            read=self.batches.read)

    def all_settings(self, **settings: Any) -> Dict[str, Any]:
        """What a partial result depends on."""
        return dict(
            self.settings, seed=self.seed, **self.batches.settings, **settings)

    def generator(self, number: int) -> torch.Generator:
        """The ``number``-th generator of this seed, on the CPU."""
        return image_generators(self.seed, [number])[0]

    def loss(self, labels: Tensor, reduction: str = 'none') -> Loss:
        """Cross-entropy as a function of the images."""
        return lambda images: F.cross_entropy(
            self.classifier(images), labels, reduction=reduction)


def image_sums(values: Dict[str, Tensor]) -> Dict[str, Any]:
    """Sums over the images of a batch, and sums of squares, by block.

    Args:
        values (dict[str, Tensor]): Numbers (N, ...) by block.

    Returns:
        dict: Two lists by block.
    """
    return {
        name: [
            value.double().sum(0).tolist(),
            value.double().square().sum(0).tolist()
        ]
        for name, value in values.items()
    }


def image_means(parts: Sequence[Dict[str, Any]],
                number: int) -> Dict[str, Any]:
    """Means over images and their standard errors, by block.

    Args:
        parts (Sequence[dict]): Results of :func:`image_sums`.
        number (int): Number of images.

    Returns:
        dict: ``mean`` and ``stderr`` by block.

    Example:
        >>> part = image_sums(dict(layer1=torch.tensor([1., 3.])))
        >>> image_means([part], 2)
        {'layer1': {'mean': 2.0, 'stderr': 1.0}}
    """
    results = {}
    for name in parts[0]:
        total, squares = (
            torch.tensor([part[name][i] for part in parts],
                         dtype=torch.float64).sum(0) for i in range(2))
        mean = total / number
        variance = (squares / number - mean.square()).clamp(min=0)
        results[name] = dict(
            mean=mean.tolist(),
            stderr=(variance / max(number - 1, 1)).sqrt().tolist())
    return results
