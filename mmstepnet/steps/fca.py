# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from itertools import product
from typing import Optional, Sequence, Tuple

import torch
from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import BottleneckMLP, as_gate, is_captured

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


def resample(basis: Tensor, length: int) -> Tensor:
    """A basis on a grid to that on the points that adaptive pooling averages.

    The sum of ``basis`` times a signal that is pooled to its grid is the sum
    of ``resample(basis, length)`` times the signal itself.

    Args:
        basis (Tensor): Functions on a grid of P cells, (K, P).
        length (int): Number of points L.

    Returns:
        Tensor: Functions on the points, (K, L).

    Example:
        >>> resample(torch.tensor([[1., 2.]]), 4)
        tensor([[0.5000, 0.5000, 1.0000, 1.0000]])
    """
    size = basis.size(1)
    cells = torch.arange(size, device=basis.device)[:, None]
    points = torch.arange(length, device=basis.device)
    start = cells * length // size
    end = ((cells + 1) * length + size - 1) // size
    inside = (start <= points) & (points < end)
    mean = inside.to(basis.dtype) / (end - start)
    # not a product of matrices, which autocast would round
    return (basis[..., None] * mean).sum(1)


@MODELS.register_module()
class FCA(Step):
    """Frequency channel attention as a step.

    The channels fall into as many groups as there are frequencies, and each
    group is described by its own component of the two-dimensional discrete
    cosine transform in place of the mean; the map of SE follows. In a map of
    another size it is the component of the map pooled to ``size`` x ``size``.

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
        for name, axis in zip(('heights', 'widths'), zip(*pairs)):
            basis = cosine_basis([k * (size // 7) for k in axis], size)
            self.register_buffer(name, basis.float(), persistent=False)
        self.excite = BottleneckMLP(in_channels, ratio, bias)

    def input_weights(self) -> Sequence[Tensor]:
        """The weight of the last linear layer."""
        return [self.excite.fc2.weight]

    def component(self, height: int, width: int, dtype: torch.dtype) -> Tensor:
        """What a map is multiplied by and summed up, (K, H, W)."""
        rows, columns = self.heights.to(dtype), self.widths.to(dtype)
        if is_captured() or (height, width) != (self.size, self.size):
            rows = resample(rows, height)
            columns = resample(columns, width)
        return rows[:, :, None] * columns[:, None, :]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        dtype = torch.promote_types(residual.dtype, torch.float32)
        component = self.component(residual.size(2), residual.size(3), dtype)
        x = residual.to(dtype).unflatten(1, (len(component), -1))
        descriptor = (x * component[:, None]).sum((3, 4))
        return as_gate(self.excite(descriptor.flatten(1)))
