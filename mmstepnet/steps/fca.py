# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from itertools import product
from typing import Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import BottleneckMLP, as_gate

#: Frequencies along the height and the width of a 7x7 grid, best first.
TOP16 = ((0, 0), (0, 1), (6, 0), (0, 5), (0, 2), (1, 0), (1, 2), (4, 0),
         (5, 0), (1, 6), (3, 0), (0, 4), (0, 6), (0, 3), (3, 5), (2, 2))


def cosine_basis(frequencies: Sequence[int], size: int) -> Tensor:
    """Orthonormal basis functions of the discrete cosine transform.

    Args:
        frequencies (Sequence[int]): Frequencies k.
        size (int): Number of points P.

    Returns:
        Tensor: ``cos(pi k (p + 0.5) / P) / sqrt(P)``, times ``sqrt(2)`` for
        k > 0, (len(frequencies), P), float64.

    Example:
        >>> cosine_basis([0], 4)
        tensor([[0.5000, 0.5000, 0.5000, 0.5000]], dtype=torch.float64)
    """
    k = torch.tensor(frequencies, dtype=torch.float64)[:, None]
    points = torch.arange(size, dtype=torch.float64) + 0.5
    scale = (1 + k.sign()).div(size).sqrt()
    return (k * points * (math.pi / size)).cos() * scale


@MODELS.register_module()
class FCA(Step):
    """Frequency channel attention as a step.

    The channels fall into as many groups as there are frequencies, and each
    group is described by its own component of the two-dimensional discrete
    cosine transform in place of the mean; the map of SE follows. Maps of
    another size are pooled to ``size`` x ``size`` first.

    The frequencies are those of a 7x7 grid, scaled to the reference size. The
    authors' reference sizes are 56, 28, 14 and 7 in the stages of ResNet for
    ImageNet: give the backbone's ``step`` as a list of one config a stage.

    Args:
        in_channels (int): Channels C of the block's output.
        size (int): Reference size, a multiple of 7. Defaults to 7.
        frequencies (Sequence[tuple[int, int]]): Frequencies along height and
            width, from 0 to 6. Defaults to the authors' best 16.
        ratio (int): Reduction of the hidden layer. Defaults to 16.
        bias (bool): Whether both layers have a bias. Defaults to False, as
            in the authors' code.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If a frequency is unknown, ``in_channels`` doesn't divide
            into the frequencies, ``size`` is no multiple of 7 or ``ratio``
            leaves no channel.

    Source:
        Qin et al., "FcaNet: Frequency Channel Attention Networks", ICCV 2021.

    Example:
        >>> import torch
        >>> step = FCA(64)
        >>> step(torch.rand(2, 64, 8, 8), torch.rand(2, 64, 8, 8)).shape
        torch.Size([2, 64, 8, 8])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 size: int = 7,
                 frequencies: Sequence[Tuple[int, int]] = TOP16,
                 ratio: int = 16,
                 bias: bool = False,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        if not isinstance(size, int) or size < 7 or size % 7:
            raise ValueError(
                f'size must be a positive multiple of 7, got {size!r}')
        pairs = [
            tuple(pair) if isinstance(pair, list) else pair
            for pair in frequencies
        ]
        if not pairs or not set(pairs) <= set(product(range(7), repeat=2)):
            raise ValueError('frequencies must be pairs of integers from 0 to '
                             f'6, got {frequencies!r}')
        if in_channels % len(pairs):
            raise ValueError('the number of frequencies must divide '
                             f'in_channels={in_channels}, got {len(pairs)} '
                             'frequencies')
        self.size = size
        heights, widths = (
            cosine_basis([k * (size // 7) for k in axis], size)
            for axis in zip(*pairs))
        basis = heights[:, :, None] * widths[:, None, :]
        self.register_buffer('basis', basis.float(), persistent=False)
        self.excite = BottleneckMLP(in_channels, ratio, bias)

    def input_weights(self) -> Sequence[Tensor]:
        """The weight of the last linear layer."""
        return [self.excite.fc2.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        x = residual.to(torch.promote_types(residual.dtype, torch.float32))
        x = F.adaptive_avg_pool2d(x, self.size)
        x = x.unflatten(1, (len(self.basis), -1))
        component = (x * self.basis[:, None].to(x.dtype)).sum((3, 4))
        return as_gate(self.excite(component.flatten(1)))
