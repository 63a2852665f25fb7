# Copyright (c) mmstepnet contributors. All rights reserved.
"""Stiffness of a trajectory of residual blocks, as pure functions.

``nsi`` is always of shape (N, L): L measured blocks of N samples, the blocks
of one stage next to each other. ``stage_sizes`` says how many belong to each
stage; None means that all L form one. Results are float64.
"""
from typing import List, Optional, Sequence

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
    if features.dim() == 2:
        features = features[..., None]
    # Float32 for the short sums of a row only: over a large map it loses
    # three digits. A sum beyond its range is no number, not an infinite one.
    rows = torch.linalg.vector_norm(features, dim=-1, dtype=dtype).double()
    rows = rows.masked_fill(rows.isinf(), torch.nan)
    norms = torch.linalg.vector_norm(rows.flatten(2), dim=2) \
        if rows.dim() > 2 else rows
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
        part = part / mean.masked_fill(mean == 0, 1) - 1
        # the mean of equal numbers may differ from them in the last digit
        parts.append(part.masked_fill(part.abs() < 1e-13, 0))
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
