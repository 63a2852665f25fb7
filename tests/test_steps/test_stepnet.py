# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch

from mmstepnet.steps import StepNet


def random_maps(batch=4, channels=8):
    torch.manual_seed(0)
    return torch.randn(2, batch, channels, 5, 3)


def test_six_parameters_a_channel():
    assert sum(p.numel() for p in StepNet(32).parameters()) == 6 * 32
    one = StepNet(32, inputs='next')
    assert sum(p.numel() for p in one.parameters()) == 5 * 32


def test_starts_at_a_constant_step_size():
    step_size = StepNet(8).step_size(*random_maps())
    torch.testing.assert_close(step_size, torch.full((4, 8, 1, 1), 0.2689414))


def test_a_channel_sees_its_own_two_states_only():
    """Channel c pairs x_t[c] with x_{t+1}[c], not x_t[2i] with x_t[2i+1]."""
    step = StepNet(8).eval()
    with torch.no_grad():
        step.weight.fill_(1.)
        step.excite.weight.fill_(1.)
    residual, identity = random_maps()
    for maps in ((residual, identity.clone().requires_grad_()),
                 (residual.clone().requires_grad_(), identity)):
        moved = next(x for x in maps if x.requires_grad)
        step_size = step.step_size(*maps)
        for c in range(8):
            grad, = torch.autograd.grad(
                step_size[:, c].sum(), moved, retain_graph=True)
            seen = grad.abs().sum((0, 2, 3)).ne(0)
            assert seen.tolist() == [i == c for i in range(8)]


def test_the_two_weights_belong_to_the_present_and_the_next_state():
    step = StepNet(8).eval()
    residual, identity = random_maps()
    with torch.no_grad():
        step.excite.weight.fill_(1.)
        step.excite.bias.zero_()
        step.norm.eps = 0.
        for weight, state in (([1.,
                                0.], identity), ([0.,
                                                  1.], identity + residual)):
            step.weight.copy_(torch.tensor(weight).expand(8, 2))
            torch.testing.assert_close(
                step.step_size(residual, identity)[..., 0, 0],
                state.mean((2, 3)).sigmoid())


@pytest.mark.parametrize('batch', [1, 2])
def test_small_batches_use_the_running_statistics(batch):
    step = StepNet(8)
    with torch.no_grad():
        step.excite.weight.fill_(1.)
        step.norm.running_mean.fill_(0.3)
        step.norm.running_var.fill_(2.)
    maps = random_maps(batch)
    training = step.step_size(*maps)
    assert step.norm.running_mean.eq(0.3).all()
    assert step.norm.running_var.eq(2).all()
    assert torch.equal(training, step.eval().step_size(*maps))


def test_larger_batches_update_the_running_statistics():
    step = StepNet(8)
    step(*random_maps(4))
    assert step.norm.num_batches_tracked == 1
    assert step.norm.running_mean.ne(0).all()


def test_the_coarse_state_is_never_materialized():
    residual, identity = (x.requires_grad_() for x in random_maps())
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
            lambda x: saved.append(tuple(x.shape)) or x, lambda x: x):
        StepNet(8).step_size(residual, identity)
    assert (4, 8, 5, 3) not in saved
