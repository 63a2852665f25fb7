# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch

from mmstepnet.backbones import CIFARAlterNet, PreActCIFARResNet
from mmstepnet.backbones.alternet import AttentionBlock, WindowAttention
from mmstepnet.steps import InResNet


def tiny(**kwargs):
    torch.manual_seed(0)
    kwargs = dict(
        dict(
            block='basic',
            base_channels=8,
            head_channels=4,
            num_heads=(1, 2, 3),
            window_size=4), **kwargs)
    return CIFARAlterNet(26, **kwargs)


def kinds(model):
    return [[isinstance(block, AttentionBlock) for block in stage]
            for stage in (model.layer1, model.layer2, model.layer3)]


def test_attention_comes_last_in_a_stage():
    assert kinds(tiny()) == [[False] * 4, [False, False, False, True],
                             [False, True, False, True]]
    assert kinds(tiny(attention_blocks=(2, 0,
                                        1))) == [[False, True, False, True],
                                                 [False] * 4,
                                                 [False, False, False, True]]


def test_without_attention_it_is_the_resnet():
    plain = PreActCIFARResNet(26, block='basic', base_channels=8)
    other = tiny(attention_blocks=(0, 0, 0))
    other.load_state_dict(plain.state_dict())
    images = torch.rand(2, 3, 16, 16)
    assert torch.equal(plain(images)[0], other(images)[0])


def reference_attention(layer, x):
    """Multi-head attention with PyTorch's own function, window by window."""
    n, c, height, width = x.shape
    size = layer.window_size
    out = torch.empty(n, layer.proj.in_channels, height, width)
    distance = torch.tensor([[[a // size - b // size, a % size - b % size]
                              for a in range(size * size)]
                             for b in range(size * size)]) + size - 1
    bias = layer.distance_bias[distance[..., 0], distance[..., 1]]
    for top in range(0, height, size):
        for left in range(0, width, size):
            window = layer.qkv(x[:, :, top:top + size, left:left + size])
            q, k, v = (
                part.unflatten(1, (layer.num_heads, -1)).flatten(3).mT
                for part in window.chunk(3, dim=1))
            result = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=bias)
            out[:, :, top:top + size, left:left + size] = result.mT.flatten(
                1, 2).unflatten(2, (size, size))
    return layer.proj(out)


def test_attention_against_pytorch():
    torch.manual_seed(0)
    layer = WindowAttention(6, 10, num_heads=3, head_channels=4, window_size=4)
    torch.nn.init.normal_(layer.distance_bias)
    x = torch.randn(2, 6, 8, 12)
    torch.testing.assert_close(
        layer(x), reference_attention(layer, x), rtol=1e-4, atol=1e-5)


def test_windows_do_not_see_each_other():
    torch.manual_seed(0)
    layer = WindowAttention(6, 6, num_heads=1, head_channels=4, window_size=4)
    x = torch.randn(1, 6, 8, 8)
    changed = x.clone()
    changed[..., :4, 4:] += 1
    difference = (layer(changed) - layer(x)).abs().amax(1)[0]
    assert (difference[:4, 4:] > 0).all()
    assert difference[4:].max() == 0 and difference[:, :4].max() == 0


def test_a_small_map_is_one_window():
    layer = WindowAttention(6, 6, num_heads=1, head_channels=4, window_size=8)
    assert layer(torch.randn(2, 6, 3, 5)).shape == (2, 6, 3, 5)


@pytest.mark.parametrize('block, expansion', [('basic', 1), ('bottleneck', 4)])
def test_it_trains(block, expansion):
    torch.manual_seed(0)
    model = CIFARAlterNet(
        20 if block == 'bottleneck' else 14,
        block=block,
        base_channels=8,
        attention_blocks=(0, 1, 1),
        head_channels=4,
        window_size=4,
        step=dict(type='InResNet'))
    model.init_weights()
    out = model(torch.rand(2, 3, 16, 16))[0]
    assert out.shape == (2, 32 * expansion, 4, 4)
    (out * torch.randn_like(out)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.ne(0).any(), name
    assert isinstance(model.layer3[-1].step, InResNet)


def test_second_derivative_exists():
    layer = WindowAttention(4, 4, num_heads=1, head_channels=4, window_size=4)
    x = torch.randn(1, 4, 4, 4)
    gradient, = torch.autograd.grad(
        layer(x).square().sum(), layer.qkv.weight, create_graph=True)
    second, = torch.autograd.grad(gradient.square().sum(), layer.qkv.weight)
    assert second.isfinite().all() and second.ne(0).any()


def test_residual_branch_can_be_scaled():
    block = tiny().eval().layer3[-1]
    x = torch.randn(2, 32, 4, 4)
    before = block(x) - x
    block.scale_residual(torch.full((32, ), 0.5))
    torch.testing.assert_close(
        block(x) - x, 0.5 * before, rtol=1e-4, atol=1e-5)


def test_frozen_stages_freeze_attention():
    model = tiny(attention_blocks=(1, 1, 1), frozen_stages=1)
    assert not any(p.requires_grad for p in model.layer1.parameters())
    assert all(p.requires_grad for p in model.layer2.parameters())


@pytest.mark.parametrize('kwargs, message', [
    (dict(attention_blocks=(0, 0, 3)), 'has room for 0 to 2 .* got 3'),
    (dict(attention_blocks=(0, 0)), 'attention_blocks must have one entry'),
    (dict(num_heads=(1, 2)), 'num_heads must have one entry'),
])
def test_impossible_settings(kwargs, message):
    with pytest.raises(ValueError, match=message):
        tiny(**kwargs)


def test_maps_that_do_not_divide():
    with pytest.raises(
            ValueError, match='5 x 5 must divide into windows of '
            '4 x 4'):
        WindowAttention(4, 4, 1, 4, 4)(torch.zeros(1, 4, 5, 5))
