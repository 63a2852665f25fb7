# Copyright (c) mmstepnet contributors. All rights reserved.
import numpy as np
import pytest
import torch
from mmcv.cnn import build_norm_layer
from mmengine.registry import DefaultScope

from mmstepnet.backbones import CIFARResNet, ResNet
from mmstepnet.norms import IEBN

NORMS = dict(
    norm_cfg=dict(type='mmstepnet.IEBN'), downsample_norm_cfg=dict(type='BN'))


def reference(x, gamma, beta, w, b, mean, var):
    normed = (x - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    gate = 1 / (1 + np.exp(-(w * x.mean((2, 3)) + b)))
    return normed * (gamma * gate)[..., None, None] + beta[:, None, None]


@pytest.mark.parametrize('training', [True, False])
def test_value_and_gradient(training):
    torch.manual_seed(0)
    norm = IEBN(5).double().train(training)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_()
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    tensors = dict(
        x=torch.randn(4, 5, 3, 2, dtype=torch.float64, requires_grad=True),
        gamma=norm.weight,
        beta=norm.bias,
        w=norm.excite.weight,
        b=norm.excite.bias)
    arrays = {k: v.detach().numpy().copy() for k, v in tensors.items()}
    running = (norm.running_mean.numpy().copy(),
               norm.running_var.numpy().copy())
    probe = np.random.default_rng(0).standard_normal((4, 5, 3, 2))

    def formula(arrays):
        x = arrays['x']
        statistics = (x.mean((0, 2, 3)), x.var((0, 2, 3))) if training \
            else running
        return reference(*arrays.values(), *statistics)

    out = norm(tensors['x'])
    np.testing.assert_allclose(out.detach(), formula(arrays), 1e-6, 1e-6)
    (out * torch.from_numpy(probe)).sum().backward()
    for name, tensor in tensors.items():
        direction = np.random.default_rng(1).standard_normal(tensor.shape)
        values = [
            (formula(dict(arrays, **{name: arrays[name] + h * direction})) *
             probe).sum() for h in (1e-5, -1e-5)
        ]
        np.testing.assert_allclose((tensor.grad.numpy() * direction).sum(),
                                   (values[0] - values[1]) / 2e-5, 1e-6, 1e-6)


def test_starts_as_a_batch_norm_at_a_fixed_fraction():
    torch.manual_seed(0)
    x = torch.randn(4, 8, 3, 3)
    torch.testing.assert_close(
        IEBN(8)(x), 0.26894143 * torch.nn.BatchNorm2d(8)(x))


@pytest.mark.parametrize('scope', ['mmengine', 'mmdet', 'mmpretrain'])
def test_builds_as_a_norm_of_mmcv(scope):
    with DefaultScope.overwrite_default_scope(scope):
        name, norm = build_norm_layer(
            dict(type='mmstepnet.IEBN', requires_grad=False), 8, postfix=2)
    assert name == 'bn2' and type(norm) is IEBN
    assert not any(p.requires_grad for p in norm.parameters())


def test_state_dict_is_that_of_batch_norm_and_a_gate():
    plain = torch.nn.BatchNorm2d(8).state_dict()
    missing, unexpected = IEBN(8).load_state_dict(plain, strict=False)
    assert missing == ['excite.weight', 'excite.bias'] and not unexpected


@pytest.mark.parametrize('scale', [0., 1e3])
def test_finite(scale):
    norm = IEBN(8)
    x = (scale * torch.randn(4, 8, 3, 2)).requires_grad_()
    out = norm(x)
    out.sum().backward()
    assert out.isfinite().all() and x.grad.isfinite().all()


def test_bfloat16_and_channels_last():
    torch.manual_seed(0)
    norm, x = IEBN(8), torch.randn(4, 8, 3, 2)
    expected = norm(x)
    with torch.autocast('cpu', torch.bfloat16):
        low = norm(x.bfloat16())
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), expected, rtol=0.05, atol=0.05)
    last = norm(x.to(memory_format=torch.channels_last))
    assert last.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(last, expected)


def test_export():
    norm, x = IEBN(8).eval(), torch.randn(4, 8, 3, 2)
    program = torch.export.export(norm, (x, )).module()
    torch.testing.assert_close(program(x), norm(x))


@pytest.mark.parametrize('build', [
    lambda **kw: CIFARResNet(29, **kw),
    lambda **kw: CIFARResNet(20, block='basic', **kw),
    lambda **kw: ResNet(50, base_channels=16, **kw)
])
def test_in_a_backbone(build):
    model, plain = build(**NORMS), build()
    missing, unexpected = model.load_state_dict(
        plain.state_dict(), strict=False)
    assert not unexpected
    assert all('.excite.' in key for key in missing)
    replaced = {key.split('.excite')[0] for key in missing}
    norms = {
        name
        for name, module in plain.named_modules()
        if isinstance(module, torch.nn.BatchNorm2d)
    }
    assert replaced == {name for name in norms if 'downsample' not in name}

    outs = model(torch.randn(2, 3, 64, 64))
    sum(out.square().mean() for out in outs).backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_init_residual = True
    model.init_weights()
    assert all(block.last_norm.weight.eq(0).all() for block in model.blocks())
    model.norm_eval = True
    assert not model.train().layer1[0].bn1.training
