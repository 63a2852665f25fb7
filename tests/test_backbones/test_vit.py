# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from torch import nn

from mmstepnet.backbones import VisionTransformer
from mmstepnet.steps import StepNet, Unit, available_steps
from mmstepnet.stiffness import StiffnessRecorder

TINY = dict(embed_dims=64, num_layers=2, img_size=16)


def images(batch=3, size=16):
    return torch.rand(batch, 3, size, size)


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_counts():
    with torch.device('meta'):
        plain = count(VisionTransformer())
        on_top = count(VisionTransformer('StepNet'))
        instead = count(VisionTransformer('StepNet', attention=False))
    assert plain == 3_719_168
    assert on_top - plain == 7 * 6 * 256
    # queries and keys go
    assert plain - instead == 7 * (2 * (256 * 256 + 256) - 6 * 256)


def test_plain_network_is_torchs_encoder():
    torch.manual_seed(0)
    model = VisionTransformer(**TINY).eval()
    layer = nn.TransformerEncoderLayer(
        64, 4, 128, 0., 'gelu', batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(
        layer, 2, norm=nn.LayerNorm(64), enable_nested_tensor=False).eval()
    names = {
        'self_attn': '{}.attention',
        'norm1': '{}.norm',
        'norm2': '{}.norm',
        'linear1': '{}.fc1',
        'linear2': '{}.fc2'
    }
    state = model.state_dict()
    for key in encoder.state_dict():
        if key.startswith('layers.'):
            _, number, module, rest = key.split('.', 3)
            block = 2 * int(number) + (
                module in ('norm2', 'linear1', 'linear2'))
            name = f'layer1.{names[module].format(block)}.{rest}'
        else:
            name = key
        encoder.state_dict()[key].copy_(state[name])
    x = images()
    tokens = (model.patch_embed(x) + model.pos_embed).flatten(2)
    expected = encoder(tokens.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(model(x)[0].flatten(2), expected)


def test_stepnet_in_place_of_attention_is_its_formula():
    torch.manual_seed(0)
    model = VisionTransformer('StepNet', attention=False, **TINY).eval()
    block = model.layer1[0]
    x = torch.randn(3, 64, 4, 4)
    with torch.no_grad():
        block.step.excite.weight.normal_()
        tokens = x.flatten(2).transpose(1, 2)
        f = block.project(block.value(block.norm(tokens)))
        pooled = torch.stack((tokens.mean(1), (tokens + f).mean(1)), -1)
        z = block.step.norm((pooled * block.step.weight).sum(-1))
        gate = (z * block.step.excite.weight + block.step.excite.bias)
        expected = tokens + f * gate.sigmoid()[:, None]
        torch.testing.assert_close(
            block(x).flatten(2), expected.transpose(1, 2))


@pytest.mark.parametrize('step', available_steps())
@pytest.mark.parametrize('attention', [True, False])
def test_every_step(step, attention):
    torch.manual_seed(0)
    model = VisionTransformer(step, attention=attention, **TINY)
    out, = model(images())
    assert out.shape == (3, 64, 4, 4)
    out.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_where_to_step():
    model = VisionTransformer('StepNet', step_blocks=(1, ), **TINY)
    kinds = [type(block.step) for block in model.layer1]
    assert kinds == [Unit, Unit, StepNet, Unit]


def test_other_image_size():
    model = VisionTransformer(**TINY)
    assert model(images(size=24))[0].shape == (3, 64, 6, 6)


def test_initialization():
    model = VisionTransformer('StepNet', **TINY)
    model.init_weights()
    assert model.layer1[1].fc1.weight.std() < 0.025
    assert model.layer1[0].step.excite.bias.eq(-1).all()


def test_stiffness_is_measured():
    model = VisionTransformer('StepNet', attention=False, **TINY).eval()
    with StiffnessRecorder(model) as recorder, torch.no_grad():
        model(images())
        values = recorder.pop()
    assert recorder.stages == {'layer1': ['layer1.1', 'layer1.2', 'layer1.3']}
    assert values.shape[:2] == (3, 3) and values.gt(0).all()


@pytest.mark.parametrize('attention', [True, False])
def test_export(attention):
    model = VisionTransformer('StepNet', attention=attention, **TINY).eval()
    x = images()
    program = torch.export.export(model, (x, )).module()
    torch.testing.assert_close(program(x)[0], model(x)[0])


def test_bfloat16_autocast():
    torch.manual_seed(0)
    model = VisionTransformer('StepNet', **TINY)
    expected, = model(images())
    with torch.autocast('cpu', torch.bfloat16):
        out, = model(images())
    assert out.isfinite().all() and out.shape == expected.shape


@pytest.mark.smoke
@pytest.mark.mmpretrain
@pytest.mark.parametrize('scope', ['mmpretrain', 'mmdet'])
def test_builds_in_other_scopes(scope):
    with DefaultScope.overwrite_default_scope(scope):
        model = MODELS.build(
            dict(
                type='mmstepnet.VisionTransformer',
                step='StepNet',
                attention=False,
                **TINY))
    assert type(model.layer1[0].step) is StepNet


@pytest.mark.parametrize(
    'kwargs, message',
    [(dict(num_heads=5), 'num_heads must divide 64, got 5'),
     (dict(patch_size=5), 'patch_size must divide 16, got 5'),
     (dict(step='SE', step_blocks=(2, )),
      r'step_blocks of stage 1 must be from 0 to 1, got \[2\]'),
     (dict(step='Attention'), "one of .* got 'Attention'")])
def test_wrong_settings_get_a_sentence(kwargs, message):
    with pytest.raises(ValueError, match=message):
        VisionTransformer(**TINY, **kwargs)
