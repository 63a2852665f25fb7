# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torchvision
from resnet18 import IMAGES, build, output
from sources import error

from mmstepnet.backbones import BasicBlock
from mmstepnet.checkpoints import warm_start
from mmstepnet.registry import MODELS
from mmstepnet.steps import (SRM, Step, available_steps, constant_step_size,
                             make_constant)


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


def test_a_step_that_has_run_starts_anew():
    step = SRM(4)
    with torch.no_grad():
        step.weight.fill_(1.)
        step.norm.bias.fill_(0.3)
    residual = torch.rand(5, 4, 3, 3)
    step(residual, residual)
    constant = make_constant(step)
    for training in (True, False):
        size = step.train(training).step_size(residual, None)
        torch.testing.assert_close(size, constant[:, None,
                                                  None].expand(5, 4, 1, 1))


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


def shortened(weights):
    return {k: v for k, v in weights.items() if 'layer4.1' not in k}


def misshapen(weights):
    return {**weights, 'layer3.0.conv1.weight': torch.ones(256, 128, 1, 1)}


@pytest.mark.parametrize('change, kwargs, message', [
    (lambda w: {
        'encoder.weight': torch.ones(1)
    }, {}, 'has no weight of'),
    (lambda w: {
        **w, 'layer1.2.conv1.weight': torch.ones(1)
    }, {}, 'deeper network: this backbone has no layer1.2'),
    (lambda w: w, dict(prefix='backbone.'), "under the prefix 'backbone.'"),
    (shortened, {}, 'has only 108 of the 118 weights'),
    (misshapen, {}, 'another shape of layer3.0.conv1.weight'),
    (lambda w: {
        **w, 'layer1.0.se.fc1.weight': torch.ones(4, 64)
    }, {}, 'steps that this model does not have, layer1.0.se.fc1.weight'),
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
