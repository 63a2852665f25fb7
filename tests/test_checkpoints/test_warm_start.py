# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torchvision
from sources import (OfficialECA, OfficialSE, attention_resnet18, error,
                     randomize)

from mmstepnet.backbones import BasicBlock, ResNet
from mmstepnet.checkpoints import warm_start
from mmstepnet.registry import MODELS
from mmstepnet.steps import (Step, available_steps, constant_step_size,
                             make_constant)

IMAGES = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope='module')
def plain():
    """torchvision's ResNet-18 and the map that it ends with."""
    torch.manual_seed(0)
    model = randomize(torchvision.models.resnet18(num_classes=3))
    return model.state_dict(), trunk(model)


@torch.no_grad()
def trunk(model):
    """The last map of a model with torchvision's layout."""
    x = model.maxpool(model.relu(model.bn1(model.conv1(IMAGES))))
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
    return x


def build(step, **kwargs):
    torch.manual_seed(1)
    return ResNet(18, step=step, out_indices=(3, ), **kwargs).eval()


@torch.no_grad()
def output(model):
    return model(IMAGES)[0]


def options(name):
    """Settings with which a step starts as a scaled residual."""
    exact = dict(init_range=(0., 0.))
    return {'InResNet': exact, 'LambdaInResNet': exact}.get(name, {})


@pytest.mark.parametrize('name', available_steps())
def test_any_step_computes_what_the_plain_network_does(name, plain):
    weights, expected = plain
    model = build(dict(type=name, **options(name)), step_at_shape_change=True)
    report = warm_start(model, weights)
    assert error(output(model), expected) <= 1e-5
    assert report.left == ['fc.weight', 'fc.bias']
    assert not report.unscaled and not report.fresh
    assert len(report.mapped) == 120


@pytest.mark.parametrize('name', available_steps())
def test_training_can_change_the_first_step(name):
    block = BasicBlock(64, 64, step=dict(type=name, **options(name)))
    make_constant(block.step)
    assert constant_step_size(block.step) is not None
    x = torch.randn(4, 64, 8, 8, generator=torch.Generator().manual_seed(0))
    block.train()(x).square().mean().backward()
    for weight in block.step.input_weights():
        assert weight.grad.abs().max() > 0


def test_stepnet_starts_at_its_own_step_size(plain):
    model = build('StepNet')
    report = warm_start(model, plain[0])
    assert len(report.scaled) == 5
    for value in report.scaled.values():
        assert value == pytest.approx(0.26894142)
    loaded, given = model.state_dict(), plain[0]
    ratio = loaded['layer1.0.bn2.weight'] / given['layer1.0.bn2.weight']
    torch.testing.assert_close(ratio, torch.full((64, ), 3.7182818))
    for name in ('layer2.0.bn2.weight', 'layer1.0.bn1.weight'):
        assert loaded[name].equal(given[name])


@pytest.mark.parametrize('step', [None, 'SE'])
def test_iebn(step, plain):
    weights, expected = plain
    model = build(
        step,
        norm_cfg=dict(type='mmstepnet.IEBN'),
        downsample_norm_cfg=dict(type='BN'))
    report = warm_start(model, weights)
    assert error(output(model), expected) <= 1e-5
    assert len(report.scaled) == (17 if step is None else 25)
    assert not report.fresh


def test_a_damped_start_is_reported(plain):
    model = build(dict(type='InResNet', init_range=(.01, .02)))
    report = warm_start(model, plain[0])
    assert len(report.unscaled) == 5
    assert 'NOT the same function' in str(report)


def test_report_says_all(plain):
    text = str(warm_start(build('StepNet'), plain[0]))
    assert 'mapped: 120 tensors' in text
    assert '5 norms by the inverse' in text
    assert '0.2689' in text
    assert 'left in the checkpoint: fc.weight, fc.bias' in text


@pytest.mark.parametrize('prefix', ['backbone.', 'backbone', None])
def test_backbone_of_a_whole_detector(prefix, plain):
    weights, expected = plain
    weights = {f'module.backbone.{k}': v for k, v in weights.items()}
    weights['module.neck.lateral_convs.0.conv.weight'] = torch.ones(1)
    model = build('StepNet')
    report = warm_start(model, weights, prefix)
    assert error(output(model), expected) <= 1e-5
    assert 'module.neck.lateral_convs.0.conv.weight' in report.left


@pytest.mark.mmpretrain
def test_whole_classifier(plain):
    pytest.importorskip('mmpretrain')
    model = MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            backbone=dict(
                type='mmstepnet.ResNet',
                depth=18,
                step='StepNet',
                out_indices=(3, )),
            neck=dict(type='GlobalAveragePooling'),
            head=dict(type='LinearClsHead', num_classes=3, in_channels=512),
            _scope_='mmpretrain')).eval()
    report = warm_start(model, plain[0])
    reference = torchvision.models.resnet18(num_classes=3).eval()
    reference.load_state_dict(plain[0])
    with torch.no_grad():
        assert error(model(IMAGES), reference(IMAGES)) <= 1e-5
    assert not report.left and not report.fresh

    thousand = dict(plain[0])
    thousand['fc.weight'] = torch.ones(1000, 512)
    thousand['fc.bias'] = torch.ones(1000)
    report = warm_start(model, thousand)
    assert report.left == ['fc.weight', 'fc.bias']
    assert report.fresh == ['head.fc.weight', 'head.fc.bias']


@pytest.mark.parametrize('kernel_sizes', [(3, 5, 5, 7), (3, 3, 5, 5)])
def test_official_eca(kernel_sizes):
    sizes = dict(zip((64, 128, 256, 512), kernel_sizes))
    source = attention_resnet18('eca', lambda c: OfficialECA(c, sizes[c]))
    weights = {f'module.{k}': v for k, v in source.state_dict().items()}
    step = [dict(type='mmstepnet.ECA', kernel_size=k) for k in kernel_sizes]
    model = build(step)
    assert not warm_start(model, weights).scaled
    assert error(output(model), trunk(source)) <= 1e-5
    with pytest.raises(ValueError, match='expected .1, 1, 9.') as caught:
        warm_start(build(dict(type='mmstepnet.ECA', kernel_size=9)), weights)
    assert str(step) in str(caught.value)


def test_official_se():
    source = attention_resnet18('se', OfficialSE)
    model = build(dict(type='mmstepnet.SE', bias=False))
    assert not warm_start(model, source.state_dict()).scaled
    assert error(output(model), trunk(source)) <= 1e-5
    with pytest.raises(ValueError, match="'bias': False"):
        warm_start(build('SE'), source.state_dict())


@pytest.mark.mmpretrain
def test_mmpretrain_seresnet():
    pytest.importorskip('mmpretrain')
    torch.manual_seed(0)
    source = randomize(
        MODELS.build(
            dict(type='mmpretrain.SEResNet', depth=50, out_indices=(3, ))))
    model = ResNet(50, step='mmstepnet.SE', out_indices=(3, )).eval()
    report = warm_start(model, {
        f'backbone.{k}': v
        for k, v in source.state_dict().items()
    }, 'backbone.')
    assert not report.left and not report.scaled
    with torch.no_grad():
        expected = source(IMAGES)[0]
    assert error(output(model), expected) <= 1e-5


@pytest.mark.mmpretrain
def test_mmpretrain_deep_stem():
    pytest.importorskip('mmpretrain')
    torch.manual_seed(0)
    config = dict(depth=18, out_indices=(3, ))
    source = randomize(
        MODELS.build(dict(type='mmpretrain.ResNetV1d', **config)))
    model = MODELS.build(
        dict(type='mmstepnet.ResNetV1d', step='SGE', **config)).eval()
    warm_start(model, source.state_dict())
    with torch.no_grad():
        expected = source(IMAGES)[0]
    assert error(output(model), expected) <= 1e-5


@pytest.mark.parametrize('name, source_step, type_', [
    ('resnet18', None, 'ResNet'),
    ('resnet18', 'se', 'ResNet'),
    ('resnet18', 'eca', 'ResNet'),
    ('resnet18d', 'se', 'ResNetV1d'),
])
def test_timm(name, source_step, type_):
    timm = pytest.importorskip('timm')
    torch.manual_seed(0)
    source = randomize(
        timm.create_model(name, block_args=dict(attn_layer=source_step)))
    # timm rounds the width of an SE layer to a multiple of 8
    step = {
        None: 'StepNet',
        'se': [dict(type='SE', ratio=r) for r in (8, 16, 16, 16)],
        'eca': 'ECA'
    }[source_step]
    model = MODELS.build(
        dict(
            type=f'mmstepnet.{type_}', depth=18, step=step,
            out_indices=(3, ))).eval()
    report = warm_start(model, source.state_dict())
    assert bool(report.scaled) == (source_step is None)
    with torch.no_grad():
        expected = source.forward_features(IMAGES)
    assert error(output(model), expected) <= 1e-5


def shortened(weights):
    return {k: v for k, v in weights.items() if 'layer4.1' not in k}


def misshapen(weights):
    return {**weights, 'layer3.0.conv1.weight': torch.ones(256, 128, 1, 1)}


@pytest.mark.parametrize('change, kwargs, message', [
    (lambda w: {
        'encoder.weight': torch.ones(1)
    }, {}, 'has no weight of'),
    (lambda w: w, dict(prefix='backbone.'), "under the prefix 'backbone.'"),
    (shortened, {}, 'has only 108 of the 118 weights'),
    (misshapen, {}, 'another shape of layer3.0.conv1.weight'),
    (lambda w: {
        **w, 'layer1.0.se.fc1.weight': torch.ones(4, 64)
    }, {}, "steps that this model does not have, layer1.0.se.fc1.weight"),
])
def test_nothing_is_loaded_after_an_error(change, kwargs, message, plain):
    model = build('StepNet')
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(ValueError, match=message) as caught:
        warm_start(model, change(plain[0]), **kwargs)
    assert '\n' not in str(caught.value)
    for name, value in model.state_dict().items():
        assert value.equal(before[name]), name


class UnknownStep(Step):
    """A step that doesn't say how its size becomes constant."""

    def step_size(self, residual, identity):
        return residual.sigmoid()


def test_step_without_a_constant_start_is_refused(plain):
    model = build(dict(type=UnknownStep))
    before = model.conv1.weight.clone()
    with pytest.raises(ValueError, match='UnknownStep step can not be made'):
        warm_start(model, plain[0])
    assert model.conv1.weight.equal(before)


def test_norm_without_parameters_is_refused(plain):
    model = build('SE', norm_cfg=dict(type='BN', affine=False))
    weights = {
        name: plain[0][name]
        for name in model.state_dict() if name in plain[0]
    }
    with pytest.raises(ValueError, match='must have a weight and a bias'):
        warm_start(model, weights)


@pytest.mark.parametrize('step', ['StepNet', 'SE'])
def test_as_init_cfg(step, plain, tmp_path, monkeypatch):
    printed = []
    monkeypatch.setattr('mmstepnet.checkpoints.warm.print_log',
                        lambda text, **_: printed.append(text))
    weights, expected = plain
    file = str(tmp_path / 'plain.pth')
    torch.save(dict(state_dict=weights), file)
    init_cfg = dict(type='mmstepnet.WarmStart', checkpoint=file)
    model = build(step, init_cfg=init_cfg)
    model.init_weights()
    assert error(output(model), expected) <= 1e-5
    assert printed[0].startswith(f'warm start from {file}')


def test_as_init_cfg_keeps_loaded_steps(tmp_path):
    source = attention_resnet18('se', OfficialSE)
    file = str(tmp_path / 'se.pth')
    torch.save(source.state_dict(), file)
    model = build(
        dict(type='mmstepnet.SE', bias=False),
        frozen_stages=1,
        freeze_steps=True,
        init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file))
    model.init_weights()
    assert error(output(model), trunk(source)) <= 1e-5
    assert all(step.is_loaded for step in model.frozen_steps())


def test_as_init_cfg_of_the_whole_model(plain, tmp_path):
    pytest.importorskip('mmpretrain')
    file = str(tmp_path / 'plain.pth')
    torch.save(plain[0], file)
    model = MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            backbone=dict(
                type='mmstepnet.ResNet',
                depth=18,
                step='SE',
                out_indices=(3, )),
            init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file),
            _scope_='mmpretrain')).eval()
    model.init_weights()
    assert error(output(model.backbone), plain[1]) <= 1e-5


def test_foreign_checkpoint_as_init_cfg(tmp_path):
    file = str(tmp_path / 'other.pth')
    torch.save({'encoder.weight': torch.ones(1)}, file)
    model = build(
        'SE', init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file))
    with pytest.raises(ValueError, match='has no weight of this model'):
        model.init_weights()
