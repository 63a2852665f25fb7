# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch

from mmstepnet.steps import ECA, SE, SGE
from mmstepnet.steps.excitation import (PooledBatchNorm, adaptive_kernel_size,
                                        global_average)


@pytest.mark.parametrize('channels, size', [(16, 3), (64, 3), (128, 5),
                                            (256, 5), (512, 5), (1024, 5),
                                            (2048, 7)])
def test_adaptive_kernel_size(channels, size):
    assert adaptive_kernel_size(channels) == size
    assert ECA(channels).excite.conv.weight.shape == (1, 1, size)


@pytest.mark.parametrize('channels, ratio, width', [(64, 16, 4), (72, 16, 4),
                                                    (16, 16, 1), (64, 1, 64)])
def test_se_width_is_exact(channels, ratio, width):
    step = SE(channels, ratio=ratio)
    assert step.excite.fc1.weight.shape == (width, channels)
    assert step.excite.fc2.weight.shape == (channels, width)


def test_sge_starts_at_a_constant_step_size():
    step_size = SGE(64, groups=16).step_size(torch.randn(2, 64, 4, 4), None)
    torch.testing.assert_close(step_size, torch.full((2, 64, 4, 4), 0.7310586))


def test_global_average_is_not_taken_in_half_precision():
    x = torch.full((1, 1, 64, 64), 1e3, dtype=torch.float16)
    assert global_average(x).dtype == torch.float32
    assert global_average(x).item() == 1000


def test_pooled_batch_norm_is_batch_norm_from_three_vectors_on():
    torch.manual_seed(0)
    ours, stock = PooledBatchNorm(8), torch.nn.BatchNorm1d(8)
    x = torch.randn(3, 8)
    assert torch.equal(ours(x), stock(x))
    assert all(
        torch.equal(a, b) for a, b in zip(ours.state_dict().values(),
                                          stock.state_dict().values()))


@pytest.mark.parametrize('maps', [
    torch.zeros(2, 4, 3, 3),
    torch.full((2, 4, 1, 1), 2.),
])
def test_sge_of_flat_maps_has_a_second_derivative(maps):
    step = SGE(4, groups=2)
    step.weight.data.fill_(0.5)
    maps = maps.requires_grad_()
    loss = step(maps, torch.ones_like(maps)).square().sum()
    first, = torch.autograd.grad(loss, maps, create_graph=True)
    second, = torch.autograd.grad(first.sum(), maps)
    assert first.isfinite().all() and second.isfinite().all()
