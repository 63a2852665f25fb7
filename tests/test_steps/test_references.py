# Copyright (c) mmstepnet contributors. All rights reserved.
"""Every step against its formula, written out in NumPy channel by channel.

Values are compared in float64; gradients against central differences of the
reference along random directions.
"""
import numpy as np
import pytest
import scipy.fft
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


def cbam(p, f, x):
    out = x.copy()
    logits = mlp(p, f.mean((2, 3))) + mlp(p, f.max(axis=(2, 3)))
    scaled = f * sigmoid(logits)[..., None, None]
    pooled = np.stack((scaled.max(axis=1), scaled.mean(1)), 1)
    kernel = p['conv.weight'][0]
    half = kernel.shape[-1] // 2
    padded = np.pad(pooled, ((0, 0), (0, 0), (half, half), (half, half)))
    spatial = np.empty(f.shape[:1] + f.shape[2:])
    for i, j in np.ndindex(*f.shape[2:]):
        window = padded[:, :, i:i + 2 * half + 1, j:j + 2 * half + 1]
        spatial[:, i, j] = (window * kernel).sum((1, 2, 3))
    spatial = (spatial - spatial.mean()) / np.sqrt(spatial.var() + 1e-5)
    gate = sigmoid(spatial * p['norm.weight'] + p['norm.bias'])
    return out + scaled * gate[:, None]


def srm(p, f, x):
    mean = f.mean((2, 3))
    deviation = np.sqrt(f.var((2, 3), ddof=1) + 1e-5)
    z = p['weight'][:, 0] * mean + p['weight'][:, 1] * deviation
    gate = sigmoid(normalize_batch(z, p['norm.weight'], p['norm.bias']))
    return x + f * gate[..., None, None]


def fca_gate(p, f):
    """With the 16 frequencies of a 7x7 grid, on maps of 7n x 7n."""
    heights = [0, 0, 6, 0, 0, 1, 1, 4, 5, 1, 3, 0, 0, 0, 3, 2]
    widths = [0, 1, 0, 5, 2, 0, 2, 0, 0, 6, 0, 4, 6, 3, 5, 2]
    dct = scipy.fft.dctn(f, axes=(2, 3), norm='ortho')
    each, scale = f.shape[1] // 16, f.shape[2] // 7
    component = np.stack([
        dct[:, c, scale * heights[c // each], scale * widths[c // each]]
        for c in range(f.shape[1])
    ], 1)
    return sigmoid(mlp(p, component))[..., None, None]


def fca_of_7(p, f, x):
    return x + f * fca_gate(p, f)


def fca_of_14(p, f, x):
    """Maps of 28x28 are pooled to 14x14 first."""
    n, c, h, w = f.shape
    pooled = f.reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5))
    return x + f * fca_gate(p, pooled)


def sem(p, f, x):
    v = f.mean((2, 3))
    decision = sigmoid(v @ p['decide.weight'].T + p['decide.bias'])
    logits = (mlp(p, v, 'se'), channel_conv(p, v, 'eca'),
              p['ie.weight'] * v + p['ie.bias'])
    gate = 1.
    for i, logit in enumerate(logits):
        gate = gate * sigmoid(decision[:, i:i + 1] * logit)
    return x + f * gate[..., None, None]


def ie(p, f, x):
    z = p['excite.weight'] * f.mean((2, 3)) + p['excite.bias']
    return x + f * sigmoid(z)[..., None, None]


def asr_of_se(p, f, x):
    inside = {k.removeprefix('gate.'): v for k, v in p.items()}
    gate = sigmoid(mlp(inside, p['psi'].reshape(1, -1)))
    return x + f * gate[..., None, None]


def asr_of_stepnet(p, f, x):
    residual, state = p['psi'][..., 0, 0]
    u, v = p['gate.weight'].T
    z = (u * state + v * (state + residual)) / np.sqrt(1 + 1e-5)
    z = z * p['gate.norm.weight'] + p['gate.norm.bias']
    gate = sigmoid(p['gate.excite.weight'] * z + p['gate.excite.bias'])
    return x + f * gate[None, :, None, None]


def in_resnet(p, f, x):
    return (1 - max(p['lam'][0], 0)) * x + f


def lambda_in_resnet(p, f, x):
    r = max(p['lam'][0], 0)
    return (1 - r) * x + (1 + r) * f


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
    'CBAM': (dict(type='CBAM', ratio=4), cbam),
    'CBAM of 3': (dict(type='CBAM', min_width=8, kernel_size=3), cbam),
    'SRM': (dict(type='SRM'), srm),
    'FCA': (dict(type='FCA', ratio=4), fca_of_7),
    'FCA with bias': (dict(type='FCA', ratio=4, bias=True), fca_of_7),
    'FCA of 14': (dict(type='FCA', ratio=4, size=14), fca_of_14),
    'SEM': (dict(type='SEM', ratio=4), sem),
    'IE': (dict(type='IE'), ie),
    'ASR': (dict(type='ASR', gate=dict(type='SE', ratio=4)), asr_of_se),
    'ASR of StepNet': (dict(type='ASR', gate='StepNet'), asr_of_stepnet),
    'InResNet': (dict(type='InResNet'), in_resnet),
    'LambdaInResNet': (dict(type='LambdaInResNet'), lambda_in_resnet),
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
    pixels = (5, 3)
    if cfg['type'] == 'FCA':
        pixels = (28, 28) if 'size' in cfg else (7, 7)
    size = (4, 16, *pixels)
    tensors = {
        name: torch.randn(size, dtype=torch.float64) + 0.3
        for name in ('residual', 'identity')
    }
    for tensor in tensors.values():
        tensor.requires_grad_()
    with torch.no_grad():
        for name, parameter in step.named_parameters():
            tensors[name] = parameter.normal_(std=0.5)
    arrays = {k: v.detach().numpy().copy() for k, v in tensors.items()}
    probe = rng.standard_normal(size)

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
