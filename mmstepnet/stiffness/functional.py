# Copyright (c) mmstepnet contributors. All rights reserved.
"""Stiffness of a trajectory of residual blocks, as pure functions.

``nsi`` is always of shape (N, L): L measured blocks of N samples, the blocks
of one stage next to each other. ``stage_sizes`` says how many belong to each
stage; None means that all L form one. Results are float64.
"""
from typing import Callable, List, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor

StageSizes = Optional[Sequence[int]]


def l2_norm(features: Tensor, per_channel: bool = False) -> Tensor:
    """L2 norm of every sample, accumulated in float32 or better.

    Args:
        features (Tensor): Features (N, ...) of any floating dtype.
        per_channel (bool): Whether to keep dimension 1. Defaults to False.

    Returns:
        Tensor: Norms (N,), or (N, C), float64.

    Example:
        >>> l2_norm(torch.full((1, 4, 4), 3., dtype=torch.half))
        tensor([12.], dtype=torch.float64)
    """
    dtype = torch.promote_types(features.dtype, torch.float32)
    # Short inner sums first: a single float32 sum over a large map loses
    # three digits.
    norms = torch.linalg.vector_norm(
        features.reshape(*features.shape[:2], -1), dim=2, dtype=dtype)
    norms = norms.double()
    return norms if per_channel else torch.linalg.vector_norm(norms, dim=1)


def nsi(state: Tensor, derivative: Tensor) -> Tensor:
    r"""Neural stiffness index of one block.

    .. math:: \mathrm{NSI}_t = \lVert \dot{x}_t \rVert_2 / \lVert x_t \rVert_2

    over all of C x H x W. With the derivative :math:`\dot{x}_t = (x_{t+1} -
    x_t) / \Delta t` this is the index with the block's own step size
    (Definition 1); with the increment :math:`x_{t+1} - x_t` in its place it
    is the index with :math:`\Delta t = 1`.

    Args:
        state (Tensor): State :math:`x_t`, (N, ...).
        derivative (Tensor): Derivative or increment, of the same shape.

    Returns:
        Tensor: NSI (N,), float64; inf or NaN for a state of norm zero.

    Raises:
        ValueError: If the shapes differ.

    Source:
        Huang et al., "Understanding Self-attention Mechanism via Dynamical
        System Perspective", ICCV 2023, Definition 1.

    Example:
        >>> nsi(torch.ones(2, 4), torch.full((2, 4), 3.))
        tensor([3., 3.], dtype=torch.float64)
    """
    if state.shape != derivative.shape:
        raise ValueError('state and derivative must have the same shape, got '
                         f'{tuple(state.shape)} and '
                         f'{tuple(derivative.shape)}')
    return l2_norm(derivative) / l2_norm(state)


def split_stages(values: Tensor, stage_sizes: StageSizes) -> List[Tensor]:
    """Columns of every stage.

    Args:
        values (Tensor): One value for each block, (N, L).
        stage_sizes (Sequence[int], optional): Blocks of each stage.

    Returns:
        list[Tensor]: (N, size) for each stage.

    Raises:
        ValueError: If the sizes don't add up to L.
    """
    if values.dim() != 2:
        raise ValueError('NSI must be of shape (samples, blocks), got '
                         f'{tuple(values.shape)}')
    sizes = [values.shape[1]] if stage_sizes is None else list(stage_sizes)
    if sum(sizes) != values.shape[1] or any(size < 0 for size in sizes):
        raise ValueError(f'stage_sizes must add up to the {values.shape[1]} '
                         f'blocks of the trajectory, got {sizes}')
    return list(values.split(sizes, dim=1))


def excess(nsi: Tensor, stage_sizes: StageSizes = None) -> Tensor:
    r"""How far NSI lies above the mean of its stage, :math:`NSI_t/\mu - 1`.

    A block is stiff at degree (M1, M2) if its excess is at least M1 and its
    NSI at least M2. The only block of a stage can't stand out and a residual
    of zero doesn't move: their excess is -1, so that they are never stiff.

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        stage_sizes (Sequence[int], optional): Blocks of each stage.

    Returns:
        Tensor: Excess (N, L), float64.

    Example:
        >>> excess(torch.tensor([[1., 3.]]))
        tensor([[-0.5000,  0.5000]], dtype=torch.float64)
    """
    parts = []
    for part in split_stages(nsi.double(), stage_sizes):
        if part.shape[1] < 2:
            parts.append(torch.full_like(part, -1))
            continue
        mean = part.mean(dim=1, keepdim=True)
        parts.append(part / mean.masked_fill(mean == 0, 1) - 1)
    return torch.cat(parts, dim=1)


def staircase_area(widths: Tensor, heights: Tensor) -> Tensor:
    """Area of a union of rectangles that share the lower left corner.

    Args:
        widths (Tensor): Widths (N, L); negative ones count as zero.
        heights (Tensor): Heights (N, L).

    Returns:
        Tensor: Area of the union, (N,), differentiable almost everywhere.

    Example:
        >>> staircase_area(torch.tensor([[2., 1.]]), torch.tensor([[1., 3.]]))
        tensor([4.])
    """
    if widths.shape[1] == 0:
        return widths.new_zeros(len(widths))
    widths, order = widths.clamp(min=0).sort(dim=1, descending=True)
    tops = heights.gather(1, order).cummax(dim=1).values
    ends = torch.nn.functional.pad(widths[:, 1:], (0, 1))
    return (tops * (widths - ends)).sum(dim=1)


def tns(nsi: Tensor, stage_sizes: StageSizes = None) -> Tensor:
    r"""Total neural stiffness of every sample, exactly.

    A trajectory is stiff at degree (M1, M2) if some block has
    :math:`\mathrm{NSI}_t \ge \max(\mu (1 + M_1), M_2)`, with :math:`\mu` the
    mean over the measured blocks of its stage. TNS is the integral of that
    over the quarter plane: the area of the union of the rectangles
    :math:`[0, \mathrm{NSI}_t / \mu - 1] \times [0, \mathrm{NSI}_t]`. It needs
    no grid and costs O(L log L) a sample.

    Args:
        nsi (Tensor): NSI of the measured blocks, (N, L).
        stage_sizes (Sequence[int], optional): Blocks of each stage.

    Returns:
        Tensor: TNS (N,), float64, differentiable almost everywhere.

    Source:
        Huang et al., "Understanding Self-attention Mechanism via Dynamical
        System Perspective", ICCV 2023, section 3.

    Example:
        >>> tns(torch.tensor([[1., 3.], [2., 2.]]))
        tensor([1.5000, 0.0000], dtype=torch.float64)
    """
    return staircase_area(excess(nsi, stage_sizes), nsi.double())


def stage_tns(nsi: Tensor, stage_sizes: StageSizes = None) -> Tensor:
    """TNS of every stage by itself, (N, stages), see :func:`tns`."""
    return torch.stack([tns(part) for part in split_stages(nsi, stage_sizes)],
                       dim=1)


def delta(nsi: Tensor,
          m1: Union[Tensor, Sequence[float]],
          m2: Union[Tensor, Sequence[float]],
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
               m1: Union[Tensor, Sequence[float]],
               m2: Union[Tensor, Sequence[float]] = (0., ),
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


def _surface(nsi: Tensor, m1: Union[Tensor, Sequence[float]],
             m2: Union[Tensor, Sequence[float]], stage_sizes: StageSizes,
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
    if (m1 is None) == (m2 is None):
        raise ValueError('fix one of m1 and m2, got '
                         f'm1={m1} and m2={m2}')
    widths, heights = excess(nsi, stage_sizes), nsi.double()
    if m2 is not None:
        reach = widths.masked_fill(heights < m2, -1.)
    else:
        reach = heights.masked_fill(widths < m1, -1.)
    return exceedance(reach.amax(dim=1) if reach.shape[1] else reach)
