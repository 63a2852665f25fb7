# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torchvision
from torch import nn

from mmstepnet.backbones import ResNet
from mmstepnet.stiffness import StiffnessRecorder, find_blocks


def record(model, image, **kwargs):
    with StiffnessRecorder(model, **kwargs) as recorder, torch.no_grad():
        model(image)
        return recorder, recorder.pop()


def randomized(model):
    """Statistics and weights of batch norms unlike those at the start."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.3, 0.9)
            nn.init.uniform_(module.bias, -0.2, 0.2)
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 2)
    model.eval()
    return model


@pytest.mark.parametrize('depth', [34, 50])
def test_ours_equals_torchvision(depth):
    theirs = randomized(getattr(torchvision.models, f'resnet{depth}')())
    ours = ResNet(depth=depth, out_indices=(3, ))
    missing = ours.load_state_dict(theirs.state_dict(), strict=False)[0]
    assert missing == []
    image = torch.rand(2, 3, 64, 64)
    _, expected = record(ours.eval().double(), image.double())
    recorder, values = record(theirs.double(), image.double())
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=0)
    _, single = record(theirs.float(), image)
    torch.testing.assert_close(single, expected, rtol=1e-5, atol=0)
    assert recorder.stages == StiffnessRecorder(ours).stages
    assert 'enters its last activation' in recorder.describe()
    assert 'its step' in StiffnessRecorder(ours).describe()


def by_hand(model, block, image, tail):
    """NSI from the last layer of the residual branch."""
    seen = {}
    handles = [
        block.register_forward_pre_hook(
            lambda m, args: seen.update(x=args[0].clone())),
        tail.register_forward_hook(
            lambda m, args, out: seen.update(f=out.clone()))
    ]
    with torch.no_grad():
        model(image)
    for handle in handles:
        handle.remove()
    norm = torch.linalg.vector_norm
    return norm(
        seen['f'].flatten(1), dim=1) / norm(
            seen['x'].flatten(1), dim=1)


def mm_model(library, kind, **kwargs):
    models = pytest.importorskip(f'{library}.models')
    return randomized(getattr(models, kind)(**kwargs))


@pytest.mark.mmdet
@pytest.mark.parametrize('kind, kwargs', [
    ('ResNet', dict(depth=18)),
    ('ResNet', dict(depth=50, style='caffe')),
    ('ResNeXt', dict(depth=50, groups=32, base_width=4)),
])
def test_mmdet(kind, kwargs):
    model = mm_model('mmdet', kind, **kwargs)
    image = torch.rand(2, 3, 64, 64)
    recorder, values = record(model, image)
    block = model.layer3[1]
    tail = block.norm2 if kwargs['depth'] == 18 else block.norm3
    column = sum(recorder.stages.values(), []).index('layer3.1')
    torch.testing.assert_close(
        values[:, column, 1],
        by_hand(model, block, image, tail).double(),
        rtol=1e-5,
        atol=0)


@pytest.mark.mmpretrain
@pytest.mark.parametrize('kind, kwargs, tail', [
    ('ResNet', dict(depth=34), 'norm2'),
    ('SEResNet', dict(depth=50), 'se_layer'),
    ('ResNeXt', dict(depth=50), 'norm3'),
])
def test_mmpretrain(kind, kwargs, tail):
    model = mm_model('mmpretrain', kind, **kwargs)
    image = torch.rand(2, 3, 64, 64)
    recorder, values = record(model, image)
    block = model.layer3[1]
    column = sum(recorder.stages.values(), []).index('layer3.1')
    torch.testing.assert_close(
        values[:, column, 1],
        by_hand(model, block, image, getattr(block, tail)).double(),
        rtol=1e-5,
        atol=0)


def vit_reference(model, blocks, image):
    states = []
    handles = [
        block.register_forward_hook(lambda m, args, out: states.append(
            (args[0], out))) for block in blocks
    ]
    with torch.no_grad():
        model(image)
    for handle in handles:
        handle.remove()
    norm = torch.linalg.vector_norm
    return torch.stack([
        norm((out - x).flatten(1), dim=1) / norm(x.flatten(1), dim=1)
        for x, out in states[1:]
    ],
                       dim=1).double()


@pytest.mark.mmpretrain
def test_mmpretrain_vit():
    model = mm_model(
        'mmpretrain',
        'VisionTransformer',
        arch='deit-tiny',
        img_size=32,
        patch_size=8)
    image = torch.rand(2, 3, 32, 32)
    recorder, values = record(model, image)
    assert list(recorder.stages) == ['layers']
    torch.testing.assert_close(
        values[..., 0],
        vit_reference(model, model.layers, image),
        rtol=1e-4,
        atol=0)


def test_torchvision_vit():
    model = torchvision.models.VisionTransformer(32, 8, 4, 2, 16, 32).eval()
    image = torch.rand(2, 3, 32, 32)
    recorder, values = record(model, image)
    assert len(recorder.stages['layers']) == 3
    torch.testing.assert_close(
        values[..., 0],
        vit_reference(model, model.encoder.layers, image),
        rtol=1e-4,
        atol=0)


@pytest.mark.parametrize('name, sizes', [
    ('resnet26', [1, 1, 1, 1]),
    ('resnext50_32x4d', [2, 3, 5, 2]),
    ('resnetv2_50', [2, 3, 5, 2]),
    ('vit_tiny_patch16_224', [11]),
])
def test_timm(name, sizes):
    timm = pytest.importorskip('timm')
    size = 224 if 'vit' in name else 64
    model = randomized(timm.create_model(name))
    recorder, values = record(model, torch.rand(1, 3, size, size))
    assert [len(blocks) for blocks in recorder.stages.values()] == sizes
    assert values.isfinite().all()
    if name == 'resnext50_32x4d':
        image = torch.rand(2, 3, 64, 64)
        _, values = record(model, image)
        block = model.layer2[2]
        torch.testing.assert_close(
            values[:, 3, 0],
            by_hand(model, block, image, block.bn3).double(),
            rtol=1e-5,
            atol=0)


def test_a_list_of_names():
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])
    image = torch.rand(3, 4)
    recorder, values = record(model, image, blocks=['0', '1', '2', '3'])
    assert recorder.stages == {'': ['1', '2', '3']}
    state = model[0](image)
    torch.testing.assert_close(values[:, 0, 0],
                               ((model[1](state) - state).norm(dim=1) /
                                state.norm(dim=1)).double())
    assert find_blocks(model) == []
    assert StiffnessRecorder(model).describe() == \
        'No residual block was found.'


def test_names_of_steps():
    model = ResNet(depth=18, base_channels=8, step='ECA').eval()
    names = ['layer1.0', 'layer1.1']
    recorder, values = record(model, torch.rand(1, 3, 32, 32), blocks=names)
    assert values.shape == (1, 1, 3) and values[0, 0, 2] != 1


def test_wrong_names():
    model = torchvision.models.resnet18()
    with pytest.raises(ValueError, match=r"'layer1.2'; close .*'layer1.1'"):
        StiffnessRecorder(model, ['layer1.1', 'layer1.2'])
    with pytest.raises(ValueError, match='keep the shape'):
        record(
            model, torch.rand(1, 3, 64, 64), blocks=['layer2.1', 'layer2.0'])
    with pytest.raises(ValueError, match='second one .*got only layer1.0'):
        record(model, torch.rand(1, 3, 64, 64), blocks=['layer1.0'])
