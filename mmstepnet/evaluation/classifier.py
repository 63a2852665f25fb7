# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from typing import Any, Sequence

import torch
from torch import Tensor, nn


class PixelClassifier(nn.Module):
    """A classifier of pixels in [0, 1], made of one of MMPretrain.

    Normalization and the order of the channels are those of the classifier's
    own data preprocessor, and gradients flow through them.

    Args:
        model (nn.Module): An MMPretrain classifier, or any module with a
            ``data_preprocessor`` whose ``mode='tensor'`` gives logits.

    Raises:
        ValueError: If the model has no ``data_preprocessor``.

    Example:
        >>> from mmstepnet.registry import MODELS
        >>> model = MODELS.build(dict(
        ...     type='mmpretrain.ImageClassifier',
        ...     data_preprocessor=dict(mean=[127.5] * 3, std=[64.] * 3),
        ...     backbone=dict(type='mmstepnet.ResNet', depth=18,
        ...                   base_channels=8, out_indices=(3, )),
        ...     neck=dict(type='mmpretrain.GlobalAveragePooling'),
        ...     head=dict(type='mmpretrain.LinearClsHead', num_classes=10,
        ...               in_channels=64)))
        >>> PixelClassifier(model.eval())(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        if not hasattr(model, 'data_preprocessor'):
            raise ValueError('expected a classifier with a data_preprocessor,'
                             f' got {type(model).__name__}')
        self.model: Any = model

    def forward(self, images: Tensor) -> Tensor:
        """Logits.

        Args:
            images (Tensor): Pixels in [0, 1], (N, C, H, W), with the
                channels in the order of the dataset.

        Returns:
            Tensor: Logits, (N, K).

        Raises:
            ValueError: If the model gives something else.
        """
        data = self.model.data_preprocessor(dict(inputs=images * 255.), False)
        logits = self.model(data['inputs'], mode='tensor')
        if not isinstance(logits, Tensor) or logits.dim() != 2:
            raise ValueError(
                f'expected {type(self.model).__name__} to give logits (N, K) '
                f'in mode "tensor", got {_describe(logits)}')
        return logits


def _describe(output: object) -> str:
    if isinstance(output, Tensor):
        return f'a tensor of shape {tuple(output.shape)}'
    return f'a {type(output).__name__}'


class Ensemble(nn.Module):
    """Mean of the probabilities of several classifiers.

    Args:
        members (Sequence[nn.Module]): Modules that give logits (N, K).

    Raises:
        ValueError: If there is none.

    Example:
        >>> ensemble = Ensemble([nn.Identity(), nn.Identity()])
        >>> ensemble(torch.tensor([[0.25, 0.75]]).log()).exp()
        tensor([[0.2500, 0.7500]])
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        if not members:
            raise ValueError('an ensemble needs at least one member, got none')
        self.members = nn.ModuleList(members)

    def forward(self, images: Tensor) -> Tensor:
        """Logarithms of the mean probabilities, (N, K)."""
        members = torch.stack(
            [member(images).log_softmax(1) for member in self.members])
        return members.logsumexp(0) - math.log(len(members))
