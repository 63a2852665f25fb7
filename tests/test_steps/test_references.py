# Copyright (c) mmstepnet contributors. All rights reserved.
"""Every step against its formula, written out in NumPy channel by channel.

Values are compared in float64; gradients against central differences of the
reference along random directions.
"""
import numpy as np
import pytest
import torch

from mmstepnet.steps import available_steps, build_step

TOLERANCE = dict(rtol=1e-6, atol=1e-6)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normalize_batch(x, weight, bias):
    """Batch norm of (N, C) by the statistics of the batch."""
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * weight + bias


def mlp(p, x, name='excite'):
    hidden = x @ p[f'{name}.fc1.weight'].T + p.get(f'{name}.fc1.bias', 0)
    hidden = np.where(hidden > 0, hidden, 0)
    return hidden @ p[f'{name}.fc2.weight'].T + p.get(f'{name}.fc2.bias', 0)


def channel_conv(p, x, name='excite'):
    kernel = p[f'{name}.conv.weight'].ravel()
    padded = np.pad(x, ((0, 0), (kernel.size // 2, ) * 2))
    return np.stack(
        [padded[:, c:c + kernel.size] @ kernel for c in range(x.shape[1])], 1)


def unit(p, f, x):
    return x + f


def se(p, f, x):
    gate = sigmoid(mlp(p, f.mean((2, 3))))
    return x + f * gate[..., None, None]


def eca(p, f, x):
    gate = sigmoid(channel_conv(p, f.mean((2, 3))))
    return x + f * gate[..., None, None]


def sge(p, f, x):
    groups = p['weight'].size
    out = x.copy()
    for n in range(len(f)):
        for g, part in enumerate(np.split(f[n], groups)):
            centre = part.mean((1, 2))
            similar = np.einsum('chw,c->hw', part, centre)
            similar = (similar - similar.mean()) / (similar.std(ddof=1) + 1e-5)
            gate = sigmoid(similar * p['weight'][g] + p['bias'][g])
            start = g * len(part)
            out[n, start:start + len(part)] += part * gate
    return out


def stepnet(p, f, x, inputs='both'):
    now, following = x.mean((2, 3)), (x + f).mean((2, 3))
    seen = dict(
        both=(now, following),
        current=(now, ),
        next=(following, ),
        difference=(following - now, ))[inputs]
    z = sum(w * v for w, v in zip(p['weight'].T, seen))
    z = normalize_batch(z, p['norm.weight'], p['norm.bias'])
    gate = sigmoid(p['excite.weight'] * z + p['excite.bias'])
    return x + f * gate[..., None, None]


def stepnet_of(inputs):
    return lambda p, f, x: stepnet(p, f, x, inputs)


CASES = {
    'Unit': (dict(type='Unit'), unit),
    'SE': (dict(type='SE', ratio=4), se),
    'SE without bias': (dict(type='SE', ratio=4, bias=False), se),
    'ECA': (dict(type='ECA'), eca),
    'ECA of 7': (dict(type='ECA', kernel_size=7), eca),
    'SGE': (dict(type='SGE', groups=4), sge),
    'StepNet': (dict(type='StepNet'), stepnet),
    **{
        f'StepNet of {inputs}': (dict(type='StepNet', inputs=inputs),
                                 stepnet_of(inputs))
        for inputs in ('current', 'next', 'difference')
    },
}


def differential(function, arrays, name, direction, width=1e-5):
    """Central difference of ``function`` along a direction of one input."""
    values = []
    for sign in (1, -1):
        moved = dict(arrays)
        moved[name] = arrays[name] + sign * width * direction
        values.append(function(moved))
    return (values[0] - values[1]) / (2 * width)


@pytest.mark.parametrize('case', CASES)
def test_value_and_gradient(case):
    cfg, reference = CASES[case]
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    step = build_step(cfg, 16).double()
    tensors = {
        'residual': torch.randn(4, 16, 5, 3, dtype=torch.float64) + 0.3,
        'identity': torch.randn(4, 16, 5, 3, dtype=torch.float64) + 0.3,
    }
    for tensor in tensors.values():
        tensor.requires_grad_()
    with torch.no_grad():
        for name, parameter in step.named_parameters():
            tensors[name] = parameter.normal_(std=0.5)
    arrays = {k: v.detach().numpy().copy() for k, v in tensors.items()}
    probe = rng.standard_normal((4, 16, 5, 3))

    def formula(arrays):
        return reference(arrays, arrays['residual'], arrays['identity'])

    state = step(tensors['residual'], tensors['identity'])
    np.testing.assert_allclose(state.detach(), formula(arrays), **TOLERANCE)

    (state * torch.from_numpy(probe)).sum().backward()
    for name, tensor in tensors.items():
        for _ in range(3):
            direction = rng.standard_normal(tensor.shape)
            np.testing.assert_allclose(
                (tensor.grad.numpy() * direction).sum(),
                differential(lambda a: (formula(a) * probe).sum(), arrays,
                             name, direction), **TOLERANCE)


def test_every_step_has_a_reference():
    assert {cfg['type'] for cfg, _ in CASES.values()} == \
        set(available_steps())
