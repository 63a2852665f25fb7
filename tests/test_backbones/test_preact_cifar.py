# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from torch import nn

from mmstepnet.backbones import CIFARResNet, PreActCIFARResNet
from mmstepnet.steps import InResNet, LambdaInResNet


def count(model):
    return sum(p.numel() for p in model.parameters())


def tiny(cls=PreActCIFARResNet, block='basic', **kwargs):
    torch.manual_seed(0)
    depth = dict(basic=14, bottleneck=20)[block]
    return cls(depth, block=block, base_channels=8, **kwargs)


def images(number=2):
    return torch.rand(
        number, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def test_parameters():
    """Those of the networks that the papers train, for 10 classes."""
    with torch.device('meta'):
        preact_110 = count(PreActCIFARResNet(110, block='basic')) + 650
        plain_110 = count(PreActCIFARResNet(110, 'basic', 'pad')) + 650
        preact_164 = count(PreActCIFARResNet(164)) + 2570
        resnext = count(
            CIFARResNet(29, base_channels=64, groups=8, width_ratio=8)) + 10250
    # He et al. print 1.7 M for both, Xie et al. 34.4 M
    assert plain_110 == preact_110 - 16 * 32 - 32 * 64
    assert f'{preact_110 / 1e6:.1f} {preact_164 / 1e6:.1f}' == '1.7 1.7'
    assert f'{resnext / 1e6:.1f}' == '34.4'


def test_resnext_has_eight_paths_of_64_channels():
    with torch.device('meta'):
        model = CIFARResNet(29, base_channels=64, groups=8, width_ratio=8)
    widths = [block.conv2.in_channels for block in model.blocks()]
    assert widths == [512] * 3 + [1024] * 3 + [2048] * 3
    assert {block.conv2.groups for block in model.blocks()} == {8}
    channels = [block.conv3.out_channels for block in model.blocks()]
    assert channels == [256] * 3 + [512] * 3 + [1024] * 3


@pytest.mark.parametrize('block', ['basic', 'bottleneck'])
def test_formula_of_a_block(block):
    model = tiny(block=block).eval()
    unit = model.layer2[1]
    x = torch.randn(2, unit.step.in_channels, 4, 4)
    branch = x
    for i in range(1, len(unit.norm_names) + 1):
        branch = getattr(unit, f'bn{i}')(branch).relu()
        branch = getattr(unit, f'conv{i}')(branch)
    torch.testing.assert_close(unit(x), x + branch)
    first = model.layer2[0]
    x = torch.randn(2, first.bn1.num_features, 4, 4)
    active = first.bn1(x).relu()
    branch = first.residual(active)
    torch.testing.assert_close(first(x), first.downsample[0](active) + branch)
    assert len(first.downsample) == 1


def test_the_last_stage_is_normalized_and_activated():
    model = tiny(out_indices=(0, 1, 2)).eval()
    outs = model(images())
    assert [tuple(out.shape[1:]) for out in outs] == [(8, 16, 16), (16, 8, 8),
                                                      (32, 4, 4)]
    assert (outs[0] < 0).any() and (outs[1] < 0).any()
    assert (outs[2] >= 0).all()
    only_first = tiny(out_indices=(0, )).eval()
    torch.testing.assert_close(only_first(images())[0], outs[0])


@pytest.mark.parametrize('cls', [InResNet, LambdaInResNet])
@pytest.mark.parametrize('block', ['basic', 'bottleneck'])
def test_no_damping_is_the_plain_network_bit_for_bit(cls, block):
    plain = tiny(block=block)
    other = tiny(block=block, step=dict(type=cls, init_range=(0., 0.)))
    other.load_state_dict(plain.state_dict(), strict=False)
    assert torch.equal(plain(images())[0], other(images())[0])


def test_full_damping_cuts_the_shortcuts():
    model = tiny(step=dict(type=InResNet, init_range=(1., 1.))).eval()
    x = model.conv1(images())
    for block in model.blocks():
        active = block.pre_activate(x, 0)
        out = block.residual(active)
        if block.downsample is not None:
            out = out + block.downsample(active)
        torch.testing.assert_close(block(x), out, rtol=0, atol=0)
        x = out


@pytest.mark.parametrize('block', ['basic', 'bottleneck'])
def test_residual_branch_can_be_scaled(block):
    unit = tiny(block=block).eval().layer1[1]
    x = torch.randn(2, unit.step.in_channels, 4, 4)
    factor = torch.rand(unit.step.in_channels) + 0.5
    before = unit(x) - x
    unit.require_scalable()
    unit.scale_residual(factor)
    torch.testing.assert_close(
        unit(x) - x, before * factor[:, None, None], rtol=1e-4, atol=1e-5)


def test_activation_checkpointing_changes_nothing():
    plain, saving = tiny(), tiny(with_cp=True)
    grads = []
    for model in (plain, saving):
        x = images().requires_grad_()
        model(x)[0].square().sum().backward()
        grads.append([x.grad] + [p.grad for p in model.parameters()])
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize('make, message', [
    (lambda: tiny(zero_init_residual=True), 'ends in a convolution'),
    (lambda: PreActCIFARResNet(21), 'must be 9n . 2, got 21'),
    (lambda: tiny(groups=8), 'only bottlenecks take groups'),
])
def test_impossible_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_parameter_trains():
    model = tiny(step='StepNet')
    model.init_weights()
    out = model(images(4))[0]
    (out * torch.randn_like(out)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        # the adaptor's W = 0 hides what comes before it at the start
        if 'step.weight' not in name and 'step.norm' not in name:
            assert parameter.grad.ne(0).any(), name
    assert isinstance(model.final_norm, nn.BatchNorm2d)
