# Copyright (c) mmstepnet contributors. All rights reserved.
import copy

import pytest
import torch
import torchvision
from mmengine.registry import MODELS, DefaultScope
from tiny_resnet import STEPS, images, tiny, wake_steps

from mmstepnet.backbones import ResNet, ResNetV1d
from mmstepnet.steps import StepNet, Unit, available_steps, step_class

R34 = 21_797_672 - 513_000
R50 = 25_557_032 - 2_049_000


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    'depth, step, added',
    [(34, None, 0), (34, 'StepNet', 17_280), (50, None, 0),
     (50, 'SE', 2_530_992), (50, 'ECA', 86),
     (50, [dict(type='ECA', kernel_size=k) for k in (3, 5, 5, 7)], 80),
     (50, 'SGE', 2_048), (50, 'StepNet', 67_584)],
    ids=str)
def test_parameter_counts(depth, step, added):
    with torch.device('meta'):
        model = ResNet(depth, step=step)
    assert count(model) == {34: R34, 50: R50}[depth] + added


@pytest.mark.parametrize('depth', [18, 34, 50, 101, 152])
def test_names_and_shapes_are_torchvisions(depth):
    with torch.device('meta'):
        ours = ResNet(depth).state_dict()
        theirs = getattr(torchvision.models, f'resnet{depth}')().state_dict()
    shapes = {k: v.shape for k, v in ours.items()}
    assert shapes == {
        k: v.shape
        for k, v in theirs.items() if not k.startswith('fc.')
    }


@pytest.mark.parametrize('depth', [18, 50])
@pytest.mark.parametrize('name', STEPS)
def test_plain_weights_load(depth, name, tmp_path):
    theirs = getattr(torchvision.models, f'resnet{depth}')()
    file = tmp_path / 'plain.pth'
    torch.save(theirs.state_dict(), file)
    model = ResNet(
        depth,
        step=STEPS[name],
        init_cfg=dict(type='Pretrained', checkpoint=str(file)))
    missing, unexpected = model.load_state_dict(
        theirs.state_dict(), strict=False)
    steps = {
        key
        for key in model.state_dict()
        if '.step.' in key and 'num_batches_tracked' not in key
    }
    assert set(missing) == steps
    assert set(unexpected) == {'fc.weight', 'fc.bias'}
    assert bool(steps) == (name != 'plain')

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.)
    model.init_weights()
    state = model.state_dict()
    for key, value in theirs.state_dict().items():
        if not key.startswith('fc.'):
            assert torch.equal(state[key], value), key
    assert not any(state[key].eq(7).any() for key in steps)
    assert not model.layer1[-1].step.is_loaded or name == 'plain'


def test_plain_network_is_torchvisions():
    theirs = torchvision.models.resnet18().eval()
    ours = ResNet(18).eval()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    with torch.no_grad():
        x = images(size=64)
        outs = ours(x)
        x = theirs.maxpool(theirs.relu(theirs.bn1(theirs.conv1(x))))
        for i, out in enumerate(outs):
            x = getattr(theirs, f'layer{i + 1}')(x)
            torch.testing.assert_close(out, x, rtol=0, atol=0)


@pytest.mark.parametrize('depth', [18, 50])
def test_every_parameter_gets_a_gradient(depth, step):
    model = wake_steps(tiny(depth, step=step))
    sum(out.mean() for out in model(images(4))).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
    for block in model.blocks():
        for parameter in block.step.parameters():
            assert parameter.grad.ne(0).any()


@pytest.mark.parametrize('depth', [18, 50])
def test_one_image_trains(depth, step):
    model = wake_steps(tiny(depth, step=step))
    outs = model(images(1))
    sum(out.square().mean() for out in outs).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
    for block in model.blocks():
        for parameter in block.step.parameters():
            assert parameter.grad.ne(0).any()


@pytest.mark.parametrize('depth', [18, 50])
def test_checkpointing_agrees(depth, step):
    model = wake_steps(tiny(depth, step=step))
    other = copy.deepcopy(model)
    for block in other.blocks():
        block.with_cp = True
    results = []
    for net in (model, other):
        x = images(4).requires_grad_()
        outs = net(x)
        sum(out.square().mean() for out in outs).backward()
        grads = [p.grad for p in net.parameters()]
        results.append([*outs, x.grad, *grads])
    for one, two in zip(*results):
        torch.testing.assert_close(one, two)
    assert tiny(with_cp=True, step=step).layer1[0].with_cp


@pytest.mark.parametrize('depth', [18, 50])
def test_bfloat16_autocast(depth, step):
    model = wake_steps(tiny(depth, step=step))
    reference = copy.deepcopy(model)(images(4))
    with torch.autocast('cpu', torch.bfloat16):
        outs = model(images(4))
    sum(out.float().mean() for out in outs).backward()
    for out, expected in zip(outs, reference):
        error = (out.float() - expected).norm() / expected.norm()
        assert error < 0.1  # some 25 roundings of 2**-8
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_output_shapes_of_the_stages():
    model = ResNet(18, out_indices=(1, 3))
    shapes = [tuple(out.shape) for out in model(images(2, 64))]
    assert shapes == [(2, 128, 8, 8), (2, 512, 2, 2)]
    assert model.feat_dim == 512 and ResNet(50).feat_dim == 2048


def test_one_pixel_maps(step):
    model = wake_steps(tiny(step=step)).eval()
    outs = model(images(2, 4))
    assert outs[0].shape[2:] == outs[1].shape[2:] == (1, 1)
    assert all(out.isfinite().all() for out in outs)


def test_style_moves_the_stride_of_a_bottleneck():
    for style, strides in (('pytorch', (1, 2)), ('caffe', (2, 1))):
        block = tiny(style=style).layer2[0]
        assert (block.conv1.stride[0], block.conv2.stride[0]) == strides


def test_dilation_keeps_the_resolution():
    model = tiny(strides=(1, 1), dilations=(1, 2))
    assert model.layer2[1].conv2.dilation == (2, 2)
    assert {out.shape[2:] for out in model(images())} == {(8, 8)}


@pytest.mark.parametrize('kwargs, expected', [
    ({}, [(1, 1, 1), (4, 4, 4, 4)]),
    (dict(contract_dilation=True), [(1, 1, 1), (2, 4, 4, 4)]),
    (dict(contract_dilation=True, multi_grid=(1, 2, 4, 8)), [(1, 1, 1),
                                                             (1, 2, 4, 8)]),
])
def test_dilations_of_blocks(kwargs, expected):
    model = tiny(strides=(1, 1), dilations=(1, 4), **kwargs)
    assert [
        tuple(block.conv2.dilation[0] for block in stage)
        for stage in (model.layer1, model.layer2)
    ] == expected


def test_variant_d():
    with torch.device('meta'):
        model = ResNetV1d(depth=50)
        plain = ResNet(50)
    # three 3x3 convolutions in place of the 7x7
    stem = 27 * 32 + 9 * 32 * 32 + 9 * 32 * 64 + 2 * (32 + 32 + 64)
    assert count(model) - count(plain) == stem - (147 * 64 + 2 * 64)
    first, other = model.layer1[0].downsample, model.layer2[0].downsample
    assert first[0].kernel_size == 1 and other[0].kernel_size == 2
    assert other[1].stride == (1, 1)
    model = ResNetV1d(
        depth=50,
        base_channels=16,
        frozen_stages=0,
        step=dict(type='mmstepnet.StepNet'))
    assert not any(p.requires_grad for p in model.stem.parameters())
    assert model(images())[-1].shape == (2, 512, 1, 1)


@pytest.mark.smoke
def test_names_are_the_same_in_every_scope(step):
    names = []
    for scope in ('mmengine', 'mmdet', 'mmpretrain'):
        with DefaultScope.overwrite_default_scope(scope):
            model = MODELS.build(
                dict(type='mmstepnet.ResNet', depth=18, step=step))
        names.append(list(model.state_dict()))
    assert names[0] == names[1] == names[2]


@pytest.mark.mmdet
@pytest.mark.parametrize('name', [
    name for name in available_steps()
    if name != 'Unit' and not step_class(name).needs_identity
])
def test_plugin_of_a_stock_resnet(name):
    backbones = pytest.importorskip('mmdet.models.backbones')
    step = STEPS.get(name, dict(type=f'mmstepnet.{name}'))
    plugin = dict(
        cfg=dict(step),
        stages=(True, True, True, True),
        position='after_conv3')
    stock = backbones.ResNet(50, base_channels=16, plugins=[plugin])
    ours = ResNet(50, base_channels=16, step=step)
    for model in (stock, ours):
        model.eval()
    ours.load_state_dict(stock.state_dict())
    for one, two in zip(stock(images()), ours(images())):
        torch.testing.assert_close(one, two)


@pytest.mark.mmdet
def test_stepnet_is_no_plugin():
    backbones = pytest.importorskip('mmdet.models.backbones')
    plugin = dict(cfg=dict(type='mmstepnet.StepNet'), position='after_conv3')
    stock = backbones.ResNet(50, base_channels=16, plugins=[plugin])
    with pytest.raises(ValueError, match='StepNet needs the identity branch'):
        stock(images())


@pytest.mark.smoke
@pytest.mark.mmpretrain
def test_in_a_classifier_of_mmpretrain():
    pytest.importorskip('mmpretrain')
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        model = MODELS.build(
            dict(
                type='mmpretrain.ImageClassifier',
                backbone=dict(
                    type='mmstepnet.ResNet', depth=18, step='StepNet'),
                neck=dict(type='GlobalAveragePooling'),
                head=dict(
                    type='LinearClsHead', num_classes=10, in_channels=512)))
    assert model(images(), mode='tensor').shape == (2, 10)


def test_stepnet_stays_out_of_blocks_that_change_the_shape():
    model = tiny(step='StepNet')
    kinds = [type(block.step) for block in model.blocks()]
    assert kinds == [Unit, StepNet, StepNet, Unit] + [StepNet] * 3
    everywhere = tiny(step='StepNet', step_at_shape_change=True)
    assert {type(block.step) for block in everywhere.blocks()} == {StepNet}
    assert {
        type(block.step)
        for block in tiny(step='SE', step_at_shape_change=False).blocks()
        if block.downsample
    } == {Unit}


@pytest.mark.parametrize(
    'depth, kwargs, message',
    [(51, {}, r'depth must be one of \[18, 34, 50, 101, 152\], got 51'),
     (50, dict(num_stages=5), 'num_stages must be from 1 to 4, got 5'),
     (50, dict(strides=(1, )), 'strides must have one entry for each of the 2'
      r' stages, got \(1,\)'),
     (50, dict(dilations=(1, )), 'dilations must have one entry'),
     (50, dict(multi_grid=(1, 2)), 'multi_grid must have one entry for each '
      r'of the 4 blocks of the last stage, got \(1, 2\)'),
     (50, dict(out_indices=(2, )), r'out_indices must be from 0 to 1, got'),
     (50, dict(style='torch'),
      "style must be 'pytorch' or 'caffe', got 'torch'"),
     (50, dict(frozen_stages=3), 'frozen_stages must be from -1 to 2, got 3'),
     (50, dict(step='SGF'), "one of .* got 'SGF'"),
     (50, dict(step=['SE']), 'step must have one entry for each of the 2'),
     (18, dict(step='SGE'), 'groups must divide in_channels=16, got 64'),
     (18, dict(step=dict(type='SE', ratio=17)), 'in_channels=16, got 17')])
def test_wrong_settings_get_a_sentence(depth, kwargs, message):
    with pytest.raises(ValueError, match=message) as info:
        tiny(depth, **kwargs)
    assert '\n' not in str(info.value)


def test_unknown_argument():
    with pytest.raises(TypeError, match='plugin'):
        tiny(plugin=3)
