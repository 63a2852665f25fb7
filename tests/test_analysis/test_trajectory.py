# Copyright (c) mmstepnet contributors. All rights reserved.
import math

import pytest
import torch

from mmstepnet.analysis import polar_trajectory


def state(x, y):
    return dict(a=torch.tensor([x]), b=torch.tensor([[y]]))


def test_points_in_the_plane():
    states = [state(3., 1.), state(1., 3.), state(1., 0.), state(1., 1.)]
    first, second, third, last = polar_trajectory(states)
    assert first == (1., 0.) and last == (0., 0.)
    assert second.radius == pytest.approx(1)
    assert second.angle == pytest.approx(math.pi / 2)
    assert third.radius == pytest.approx(0.5)
    assert third.angle == pytest.approx(math.pi / 2)


def test_small_and_opposite_angles_are_accurate():
    angles = [0., 1e-7, 1., math.pi]
    states = [
        dict(w=torch.tensor([math.cos(a), math.sin(a)], dtype=torch.float64))
        for a in angles
    ] + [dict(w=torch.zeros(2, dtype=torch.float64))]
    for point, angle in zip(polar_trajectory(states), angles):
        assert point.angle == pytest.approx(angle, rel=1e-6)


def test_order_of_the_names_does_not_matter():
    states = [
        state(3., 1.),
        dict(reversed(state(2., 1.).items())),
        state(1., 1.)
    ]
    assert polar_trajectory(states)[1] == (0.5, 0.)


@pytest.mark.parametrize('states, message', [
    ([state(1., 2.)], 'at least two checkpoints, got 1'),
    ([state(1., 2.), dict(a=torch.zeros(1))], 'checkpoint 1 has other'),
    ([state(1., 2.), state(2., 2.),
      state(1., 2.)], 'hold the same weights'),
])
def test_impossible_trajectories(states, message):
    with pytest.raises(ValueError, match=message):
        polar_trajectory(states)
