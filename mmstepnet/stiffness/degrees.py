# Copyright (c) mmstepnet contributors. All rights reserved.
"""What is stiff at which degree (M1, M2): on a grid, and as step functions."""
from typing import Callable, NamedTuple, Optional, Sequence, Union

import numpy as np
import torch
from torch import Tensor

from .functional import StageSizes, excess

Grid = Union[Tensor, np.ndarray, Sequence[float]]


def delta(nsi: Tensor,
          m1: Grid,
          m2: Grid,
          stage_sizes: StageSizes = None) -> Tensor:
    """Share of samples whose trajectory is stiff at degree (M1, M2).

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        m1 (Tensor | Sequence[float]): Grid of M1, (A,).
        m2 (Tensor | Sequence[float]): Grid of M2, (B,).
        stage_sizes (Sequence[int], optional): Blocks of each stage.

    Returns:
        Tensor: Shares (A, B), float64.

    Example:
        >>> delta(torch.tensor([[1., 3.]]), [0.4, 0.6], [2., 4.])
        tensor([[1., 0.],
                [0., 0.]], dtype=torch.float64)
    """
    return _surface(nsi, m1, m2, stage_sizes,
                    lambda heights: heights.amax(dim=1, keepdim=True))


def proportion(nsi: Tensor,
               m1: Grid,
               m2: Grid = (0., ),
               stage_sizes: StageSizes = None) -> Tensor:
    """Stiffness proportion: mean share of the blocks that are stiff.

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        m1 (Tensor | Sequence[float]): Grid of M1, (A,).
        m2 (Tensor | Sequence[float]): Grid of M2, (B,). Defaults to (0.,).
        stage_sizes (Sequence[int], optional): Blocks of each stage.

    Returns:
        Tensor: Proportions (A, B), float64.

    Example:
        >>> proportion(torch.tensor([[1., 3.]]), [0.4, 0.6])
        tensor([[0.5000],
                [0.0000]], dtype=torch.float64)
    """
    return _surface(nsi, m1, m2, stage_sizes, lambda heights: heights)


def _surface(nsi: Tensor, m1: Grid, m2: Grid, stage_sizes: StageSizes,
             reduce: Callable[[Tensor], Tensor]) -> Tensor:
    """Share of ``reduce(heights of the blocks wide enough)`` above M2."""
    nsi = nsi.double()
    widths = excess(nsi, stage_sizes)
    m1, m2 = (torch.as_tensor(m).to(nsi) for m in (m1, m2))
    surface = nsi.new_zeros(len(m1), len(m2))
    if nsi.numel() == 0:
        return surface
    for row, threshold in zip(surface, m1):
        heights = reduce(nsi.masked_fill(widths < threshold, -torch.inf))
        heights = heights.flatten().sort().values
        row.copy_(len(heights) - torch.searchsorted(heights, m2))
        row /= len(heights)
    return surface


class StepFunction(NamedTuple):
    """A decreasing step function on the half line.

    It is ``values[i]`` for ``edges[i - 1] < x <= edges[i]`` and 0 beyond the
    last edge.

    Example:
        >>> step = exceedance(torch.tensor([1., 2., 2., 4.]))
        >>> step.edges, step.values
        (tensor([1., 2., 4.]), tensor([1.0000, 0.7500, 0.2500]))
        >>> step(torch.tensor([0., 1.5, 5.]))
        tensor([1.0000, 0.7500, 0.0000])
        >>> step.integral().item()
        2.25
    """
    edges: Tensor
    values: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Values at ``x`` >= 0, of the same shape."""
        padded = torch.cat([self.values, self.values.new_zeros(1)])
        return padded[torch.searchsorted(self.edges, x.to(self.edges))]

    def integral(self) -> Tensor:
        """Integral over the half line."""
        start = torch.nn.functional.pad(self.edges, (1, 0))[:-1]
        return (self.values * (self.edges - start)).sum()


def exceedance(thresholds: Tensor) -> StepFunction:
    """Share of the ``thresholds`` that are at least x, for every x >= 0.

    Args:
        thresholds (Tensor): Any numbers; negative ones are never reached but
            count in the share.

    Returns:
        StepFunction: The exact function.
    """
    ordered = thresholds.flatten().sort().values
    edges, counts = ordered[ordered >= 0].unique_consecutive(
        return_counts=True)
    at_least = counts.flip(0).cumsum(0).flip(0)
    return StepFunction(edges, at_least.to(edges) / max(len(ordered), 1))


def proportion_function(nsi: Tensor,
                        stage_sizes: StageSizes = None,
                        *,
                        m2: float = 0.) -> StepFunction:
    """Stiffness proportion p(M1) at one M2 as an exact step function.

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        stage_sizes (Sequence[int], optional): Blocks of each stage.
        m2 (float): The fixed M2. Defaults to 0.

    Returns:
        StepFunction: Proportion over M1.

    Example:
        >>> proportion_function(torch.tensor([[1., 3.]])).values
        tensor([0.5000], dtype=torch.float64)
    """
    return exceedance(excess(nsi, stage_sizes).masked_fill(nsi < m2, -1.))


def delta_function(nsi: Tensor,
                   stage_sizes: StageSizes = None,
                   *,
                   m1: Optional[float] = None,
                   m2: Optional[float] = None) -> StepFunction:
    """A cut through delta(M1, M2) as an exact step function.

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        stage_sizes (Sequence[int], optional): Blocks of each stage.
        m1 (float, optional): The fixed M1; the function is over M2.
        m2 (float, optional): The fixed M2; the function is over M1.

    Returns:
        StepFunction: Share of stiff samples over the other degree.

    Raises:
        ValueError: If not exactly one of ``m1`` and ``m2`` is given.

    Example:
        >>> delta_function(torch.tensor([[1., 3.], [1., 1.]]), m1=0.5).edges
        tensor([3.], dtype=torch.float64)
    """
    widths, heights = excess(nsi, stage_sizes), nsi.double()
    if m1 is None and m2 is not None:
        reach = widths.masked_fill(heights < m2, -1.)
    elif m2 is None and m1 is not None:
        reach = heights.masked_fill(widths < m1, -1.)
    else:
        raise ValueError(f'fix one of m1 and m2, got m1={m1} and m2={m2}')
    return exceedance(reach.amax(dim=1) if reach.shape[1] else reach)
