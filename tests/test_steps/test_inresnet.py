# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.optim import build_optim_wrapper
from torch import nn

from mmstepnet.backbones import ResNet
from mmstepnet.steps import InResNet, LambdaInResNet, Step, build_step

CHANNELS = 8
STEPS = [InResNet, LambdaInResNet]
DAMPINGS = InResNet.damping_names


class NonResidual(Step):
    """A block without a shortcut."""
    at_shape_change = False

    def __init__(self, in_channels, *, scale=1., init_cfg=None):
        super().__init__(in_channels, init_cfg=init_cfg)
        self.scale = scale

    def step_size(self, residual, identity):
        return residual.new_ones(())

    def forward(self, residual, identity=None):
        return self.scale * residual


def random_maps():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, CHANNELS, 5, 4, generator=generator).unbind()


def damped(cls, value, damping='relu'):
    return dict(type=cls, damping=damping, init_range=(value, value))


def network(step):
    torch.manual_seed(0)
    return ResNet(18, step=step, base_channels=8, zero_init_residual=False)


@pytest.mark.parametrize('cls', STEPS)
@pytest.mark.parametrize('damping', DAMPINGS)
@pytest.mark.parametrize('training', [True, False])
def test_no_damping_is_the_plain_network_bit_for_bit(cls, damping, training):
    plain = network(None).train(training)
    other = network(damped(cls, 0., damping)).train(training)
    other.load_state_dict(plain.state_dict(), strict=False)
    images = torch.rand(2, 3, 64, 64)
    for a, b in zip(plain(images), other(images)):
        assert torch.equal(a, b)


@pytest.mark.parametrize('cls, scale', [(InResNet, 1), (LambdaInResNet, 2)])
@pytest.mark.parametrize('damping', DAMPINGS)
def test_full_damping_is_the_network_without_shortcuts(cls, scale, damping):
    cut = network(dict(type=NonResidual, scale=scale))
    other = network(damped(cls, 1., damping))
    other.load_state_dict(cut.state_dict(), strict=False)
    images = torch.rand(2, 3, 64, 64)
    for a, b in zip(cut(images), other(images)):
        assert torch.equal(a, b)


@pytest.mark.parametrize('cls, scale', [(InResNet, 1.), (LambdaInResNet, 1.5)])
def test_formula(cls, scale):
    step = cls(CHANNELS, init_range=(0.5, 0.5))
    residual, identity = random_maps()
    torch.testing.assert_close(
        step(residual, identity), 0.5 * identity + scale * residual)


@pytest.mark.parametrize('cls', STEPS)
@pytest.mark.parametrize('damping', DAMPINGS)
def test_contract(cls, damping):
    step = cls(CHANNELS, damping=damping)
    with torch.no_grad():
        for parameter in step.parameters():
            parameter.fill_(0.3)
    residual, identity = random_maps()
    state = step(residual, identity)
    torch.testing.assert_close(
        state, identity + step.derivative(residual, identity) *
        step.step_size(residual, identity))
    state.square().sum().backward()
    assert all(p.grad.ne(0).any() for p in step.parameters())
    with pytest.raises(ValueError, match='needs the identity branch'):
        step(residual)


@pytest.mark.parametrize('damping', DAMPINGS)
@pytest.mark.parametrize('init_range', [(0.2, 0.25), (0.1, 0.2)])
def test_first_damping(damping, init_range):
    torch.manual_seed(0)
    _, identity = random_maps()
    drawn = torch.stack([
        build_step(
            dict(type='InResNet', damping=damping, init_range=init_range),
            CHANNELS).damping(identity).mean() for _ in range(50)
    ])
    low, high = init_range
    assert low <= drawn.min() < low + 0.2 * (high - low)
    assert high >= drawn.max() > high - 0.2 * (high - low)


def test_gate_looks_at_each_position():
    step = InResNet(CHANNELS, damping='gating', init_range=(0.1, 0.1))
    nn.init.constant_(step.weight, 0.5)
    _, identity = random_maps()
    expected = (0.5 * identity.sum(1, keepdim=True) + 0.1).relu()
    damping = step.damping(identity)
    assert damping.shape == (3, 1, 5, 4)
    torch.testing.assert_close(damping, expected)


def test_negative_damping_is_none_and_has_no_gradient():
    step = InResNet(CHANNELS)
    nn.init.constant_(step.lam, -0.1)
    residual, identity = random_maps()
    state = step(residual, identity)
    assert torch.equal(state, identity + residual)
    state.sum().backward()
    assert step.lam.grad == 0


def test_not_where_the_shape_changes():
    model = network(dict(type='InResNet'))
    assert [type(block.step) is InResNet
            for block in model.blocks()] == [True, True] + [False, True] * 3


@pytest.mark.parametrize('decay_mult', [0., 2., None])
def test_weight_decay_of_the_damping_is_settable(decay_mult):
    cfg = dict(optimizer=dict(type='SGD', lr=0.1, weight_decay=1e-4))
    if decay_mult is not None:
        cfg['paramwise_cfg'] = dict(
            custom_keys={'step.lam': dict(decay_mult=decay_mult)})
    model = network(dict(type='InResNet'))
    groups = build_optim_wrapper(model, cfg).param_groups
    decays = {
        id(parameter): group['weight_decay']
        for group in groups
        for parameter in group['params']
    }
    expected = 1e-4 * (1. if decay_mult is None else decay_mult)
    names = [n for n, _ in model.named_parameters() if n.endswith('step.lam')]
    assert len(names) == 5
    for name, parameter in model.named_parameters():
        assert decays[id(parameter)] == (expected if name in names else 1e-4)


@pytest.mark.parametrize('kwargs, message', [
    (dict(damping='tanh'), "damping must be one of .* got 'tanh'"),
    (dict(init_range=(0.3, 0.2)), 'init_range must be two numbers'),
    (dict(init_range=(0., 1.5)), 'init_range must be two numbers'),
    (dict(init_range=(0.1, )), 'init_range must be two numbers'),
])
def test_impossible_settings(kwargs, message):
    with pytest.raises(ValueError, match=message):
        InResNet(CHANNELS, **kwargs)


@pytest.mark.parametrize('value', [0., 1.])
def test_a_sigmoid_that_starts_at_its_end_stays_finite(value):
    step = InResNet(4, damping='sigmoid', init_range=(value, value))
    assert step.damping(torch.ones(1)).item() == value
    optimizer = torch.optim.SGD(step.parameters(), lr=0.1, weight_decay=1e-4)
    ones = torch.ones(1, 4, 2, 2)
    step(ones, ones).sum().backward()
    optimizer.step()
    assert step.lam.isfinite()
