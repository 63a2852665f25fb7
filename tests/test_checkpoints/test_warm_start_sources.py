# Copyright (c) mmstepnet contributors. All rights reserved.
"""Warm starts from the checkpoints of other projects."""
import pytest
import torch
from resnet18 import IMAGES, build, output, trunk
from sources import (OfficialECA, OfficialSE, attention_resnet18, error,
                     randomize)

from mmstepnet.backbones import ResNet
from mmstepnet.checkpoints import warm_start
from mmstepnet.registry import MODELS


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
