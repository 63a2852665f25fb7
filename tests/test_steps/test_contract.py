# Copyright (c) mmstepnet contributors. All rights reserved.
"""What every registered step has in common."""
import copy

import pytest
import torch

from mmstepnet.registry import MODELS
from mmstepnet.steps import SGE, Step, available_steps, build_step

CHANNELS = 64
VARIANTS = [
    dict(type='CBAM', min_width=8, kernel_size=3),
    dict(type='ECA', kernel_size=3),
    dict(type='FCA', size=14, bias=True),
    dict(type='FCA', frequencies=((0, 0), (6, 5))),
    dict(type='SE', bias=False),
    dict(type='StepNet', inputs='current'),
    dict(type='StepNet', inputs='next'),
    dict(type='StepNet', inputs='difference'),
]
CONFIGS = [dict(type=name) for name in available_steps()] + VARIANTS


def name_of(cfg):
    return '-'.join(str(value) for value in cfg.values())


@pytest.fixture(params=CONFIGS, ids=name_of)
def cfg(request):
    return dict(request.param)


@pytest.fixture
def step(cfg):
    torch.manual_seed(0)
    return build_step(cfg, CHANNELS)


def scatter_parameters(step):
    """Move every parameter from a start that may be a critical point."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in step.parameters():
            parameter.uniform_(0.01, 0.2)
    return step


def backward(step, batch):
    # float64, since a gate in front of a batch norm is nearly invariant to
    # the scale of its weights
    scatter_parameters(step).double()
    # large enough for all taps of a kernel, positive for a ReLU
    maps = random_maps((batch, CHANNELS, 9, 8), dtype=torch.float64)
    residual, identity = ((x + 1).requires_grad_() for x in maps)
    state = step(residual, identity)
    (state * torch.randn_like(state)).sum().backward()
    assert residual.grad.ne(0).any() and identity.grad.ne(0).any()


def random_maps(size=(4, CHANNELS, 5, 3), scale=1., dtype=torch.float32):
    generator = torch.Generator().manual_seed(2)
    return [(scale * torch.randn(size, generator=generator)).to(dtype)
            for _ in range(2)]


@pytest.mark.smoke
def test_constructor_takes_in_channels_first(cfg):
    step = build_step(cfg, CHANNELS)
    assert isinstance(step, Step)
    assert step.in_channels == CHANNELS
    built = MODELS.build(
        dict(cfg, type='mmstepnet.' + cfg['type'], in_channels=CHANNELS))
    assert type(built) is type(step)
    assert list(built.state_dict()) == list(step.state_dict())


@pytest.mark.parametrize('channels, error, message', [
    (0, ValueError, 'in_channels must be a positive integer, got 0'),
    (-1, ValueError, 'in_channels must be a positive integer, got -1'),
    (1.5, TypeError, 'in_channels of .* must be an integer, got 1.5'),
    (None, TypeError, 'must be an integer, got None'),
    ('64', TypeError, "must be an integer, got '64'"),
])
def test_impossible_channels(cfg, channels, error, message):
    with pytest.raises(error, match=message):
        build_step(cfg, channels)


@pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
@pytest.mark.parametrize('training', [True, False])
def test_next_state_is_state_plus_increment(step, dtype, training):
    scatter_parameters(step).to(dtype).train(training)
    residual, identity = random_maps(dtype=dtype)
    # a batch norm gives the same for the same batch, so calls can repeat
    step_size = step.step_size(residual, identity)
    increment = step.derivative(residual, identity) * step_size
    state = copy.deepcopy(step)(residual, identity)
    assert state.shape == residual.shape and state.dtype == dtype
    assert step_size.expand_as(residual).shape == residual.shape
    torch.testing.assert_close(state, identity + increment)
    if not step.needs_identity:
        torch.testing.assert_close(step(residual), increment)
    else:
        with pytest.raises(ValueError, match='needs the identity branch'):
            step(residual)


@pytest.mark.parametrize('size', [(1, 1), (1, 4), (7, 3)], ids=str)
@pytest.mark.parametrize('batch', [1, 2, 4])
@pytest.mark.parametrize('scale', [0., 1., 1e3])
def test_finite_on_any_map(step, size, batch, scale):
    scatter_parameters(step)
    maps = random_maps((batch, CHANNELS, *size), scale)
    for training in (True, False):
        step.train(training)
        inputs = [x.clone().requires_grad_() for x in maps]
        state = step(*inputs)
        assert state.shape == (batch, CHANNELS, *size)
        assert state.isfinite().all()
        grads = torch.autograd.grad(state.sum(),
                                    inputs + list(step.parameters()))
        assert all(grad.isfinite().all() for grad in grads)
    assert all(x.isfinite().all() for x in step.state_dict().values())


@pytest.mark.smoke
def test_every_parameter_gets_a_gradient(step):
    backward(step, batch=4)
    for name, parameter in step.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.ne(0).all(), name


def test_one_image_trains(step):
    backward(step, batch=1)
    for name, parameter in step.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.ne(0).any(), name


def test_state_dict_round_trip(cfg, step):
    scatter_parameters(step).train()
    step(*random_maps())
    other = build_step(cfg, CHANNELS)
    other.load_state_dict(step.state_dict())
    assert other.is_loaded
    for one in (step, other):
        one.eval()
    assert torch.equal(step(*random_maps()), other(*random_maps()))


def test_deterministic_initialization(cfg):
    states = []
    for _ in range(2):
        torch.manual_seed(3)
        step = build_step(cfg, CHANNELS)
        before = copy.deepcopy(step.state_dict())
        torch.manual_seed(3)
        step.init_weights()
        states += [before, step.state_dict()]
    for state in states[1:]:
        assert all(
            torch.equal(value, state[name])
            for name, value in states[0].items())


def test_evaluation_keeps_the_state_and_the_images_apart(step):
    scatter_parameters(step)(*random_maps())
    step.eval()
    before = copy.deepcopy(step.state_dict())
    residual, identity = random_maps()
    together = step(residual, identity)
    torch.testing.assert_close(together[1:2], step(residual[1:2],
                                                   identity[1:2]))
    assert all(
        torch.equal(before[name], value)
        for name, value in step.state_dict().items())


def test_bfloat16(step):
    scatter_parameters(step)
    maps = random_maps()
    expected = copy.deepcopy(step)(*maps)
    low = [x.bfloat16() for x in maps]
    with torch.autocast('cpu', torch.bfloat16):
        mixed = copy.deepcopy(step)(*low)
    pure = step.bfloat16()(*low)
    for state in (mixed, pure):
        assert state.dtype == torch.bfloat16
        torch.testing.assert_close(
            state.float(), expected, rtol=0.05, atol=0.05)


def test_channels_last(step):
    scatter_parameters(step)
    maps = random_maps()
    expected = copy.deepcopy(step)(*maps)
    state = step(*(x.to(memory_format=torch.channels_last) for x in maps))
    assert state.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(state, expected)


def test_export(step):
    if isinstance(step, SGE) and torch.__version__ < '2.5':
        pytest.skip('PyTorch 2.4 exports nothing that leaves autocast')
    scatter_parameters(step).eval()
    size = {
        0: torch.export.Dim('n', min=2),
        2: torch.export.Dim('h', min=2),
        3: torch.export.Dim('w', min=2)
    }
    program = torch.export.export(
        step, tuple(random_maps()), dynamic_shapes=(size, size)).module()
    for shape in ((4, CHANNELS, 5, 3), (2, CHANNELS, 4, 6)):
        maps = random_maps(shape)
        torch.testing.assert_close(program(*maps), step(*maps))


def test_operations_can_be_counted_without_data(step):
    maps = torch.empty(2, CHANNELS, 8, 6, device='meta')
    assert step.to('meta')(maps, maps).shape == maps.shape
