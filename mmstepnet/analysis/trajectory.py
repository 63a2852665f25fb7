# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from typing import List, Mapping, NamedTuple, Sequence

import torch
from torch import Tensor


class PolarPoint(NamedTuple):
    """Where weights are, seen from the last ones.

    Attributes:
        radius (float): Distance to the last weights over that of the first.
        angle (float): Angle to the direction of the first, in radians.
    """
    radius: float
    angle: float


def polar_trajectory(
        states: Sequence[Mapping[str, Tensor]]) -> List[PolarPoint]:
    r"""The way of the weights from the first to the last in polar form.

    With :math:`\Delta_t = w_t - w_T` the radius is :math:`\|\Delta_t\| /
    \|\Delta_0\|` and the angle that between :math:`\Delta_t` and
    :math:`\Delta_0`. The first point is (1, 0), the last one (0, 0).

    Args:
        states (Sequence[Mapping[str, Tensor]]): Parameters by name, in the
            order of training.

    Returns:
        list[PolarPoint]: One a state.

    Raises:
        ValueError: If there are fewer than two states, they have other
            parameters, or the first and the last are the same.

    Source:
        Park and Kim, "How Do Vision Transformers Work?", ICLR 2022.

    Example:
        >>> states = [dict(w=torch.tensor(w)) for w in
        ...           ([2., 0.], [0., 1.], [0., 0.])]
        >>> [point.radius for point in polar_trajectory(states)]
        [1.0, 0.5, 0.0]
    """
    if len(states) < 2:
        raise ValueError('a trajectory needs at least two checkpoints, got '
                         f'{len(states)}')
    shapes = [{
        k: tuple(v.shape)
        for k, v in state.items()
    } for state in states]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f'checkpoint {index} has other parameters than '
                             'the first')
    last = _flat(states[-1])
    start = _flat(states[0]) - last
    if not start.any():
        raise ValueError('the first and the last checkpoint hold the same '
                         'weights')
    return [_point(_flat(state) - last, start) for state in states]


def _flat(state: Mapping[str, Tensor]) -> Tensor:
    return torch.cat(
        [state[key].detach().double().flatten() for key in sorted(state)])


def _point(difference: Tensor, start: Tensor) -> PolarPoint:
    length, first = difference.norm().item(), start.norm().item()
    if length == 0:
        return PolarPoint(0., 0.)
    # accurate at small angles, unlike the arc cosine
    a, b = difference / length, start / first
    angle = 2 * math.atan2((a - b).norm().item(), (a + b).norm().item())
    return PolarPoint(length / first, angle)
