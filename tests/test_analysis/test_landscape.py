# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmstepnet.analysis import (attack_surface, filter_normalized_direction,
                                moved)
from mmstepnet.robustness import fgsm, image_generators


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(),
        nn.Linear(4 * 36, 5)).eval()


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_filters_keep_their_length():
    model = network()
    direction = filter_normalized_direction(model, generator())
    assert list(direction) == [name for name, _ in model.named_parameters()]
    for name, parameter in model.named_parameters():
        change = direction[name]
        if parameter.dim() == 1:
            assert not change.any()
        else:
            torch.testing.assert_close(
                change.flatten(1).norm(dim=1),
                parameter.detach().flatten(1).norm(dim=1))
    other = filter_normalized_direction(model, generator(1))
    assert not torch.equal(direction['0.weight'], other['0.weight'])


def test_weights_come_back_bit_for_bit():
    model = network()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    directions = [
        filter_normalized_direction(model, generator(i)) for i in range(2)
    ]
    with pytest.raises(RuntimeError):
        with moved(model, directions, [0.3, -0.7]):
            torch.testing.assert_close(
                model[0].weight,
                before['0.weight'] + 0.3 * directions[0]['0.weight'] -
                0.7 * directions[1]['0.weight'])
            raise RuntimeError
    assert all(
        torch.equal(value, before[name])
        for name, value in model.state_dict().items())


def test_a_filter_of_zeros_stays_there():
    model = network()
    nn.init.zeros_(model[4].weight[0])
    direction = filter_normalized_direction(model, generator())
    assert not direction['4.weight'][0].any()
    assert direction['4.weight'].isfinite().all()


def test_attack_surface_meets_fgsm():
    model = network()
    images = torch.rand(6, 3, 8, 8, generator=generator())
    labels = torch.arange(6) % 5

    def loss(x):
        return F.cross_entropy(model(x), labels, reduction='none')

    generators = image_generators(0, range(6))
    radii = [-2 / 255, 0., 2 / 255, 4 / 255]
    surface = torch.tensor(
        attack_surface(loss, images, radii, [0., 1 / 255], generators))
    assert surface.shape == (2, 4)
    assert surface[0, 1].item() == pytest.approx(
        loss(images).sum().item(), rel=1e-6)
    for column in (2, 3):
        attacked = fgsm(loss, images, radii[column])
        assert surface[0, column].item() == pytest.approx(
            loss(attacked).sum().item(), rel=1e-5)
    assert (surface[0].diff() > 0).all()
