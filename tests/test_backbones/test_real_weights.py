# Copyright (c) mmstepnet contributors. All rights reserved.
"""Two ResNets that others trained on CIFAR-10 work in our backbone."""
import os
from pathlib import Path

import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from mmengine.runner import load_checkpoint
from torchvision import datasets, transforms

from mmstepnet.backbones import CIFARResNet

DATA = Path(
    os.environ.get('MMSTEPNET_TEST_DATA',
                   Path(__file__).parents[3] / 'shared' / 'data'))
WEIGHTS = {
    20: (DATA / 'weights/resnet20-12fca82f.th', 8.27),
    56: (DATA / 'weights/resnet56-4bfd9763.th', 6.61)
}

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f'no test data at {DATA}')


@pytest.fixture(scope='module')
def photos():
    transform = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    ])
    folder = datasets.ImageFolder(DATA / 'cifar10_mini/test', transform)
    images, labels = zip(*folder)
    return torch.stack(images), torch.tensor(labels)


def backbone(depth, **kwargs):
    return dict(
        type='mmstepnet.CIFARResNet',
        depth=depth,
        block='basic',
        shortcut='pad',
        **kwargs)


@pytest.mark.slow
@pytest.mark.mmpretrain
@pytest.mark.parametrize('depth', WEIGHTS)
def test_reported_accuracy(depth, photos):
    pytest.importorskip('mmpretrain')
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        model = MODELS.build(
            dict(
                type='mmpretrain.ImageClassifier',
                backbone=backbone(depth),
                neck=dict(type='GlobalAveragePooling'),
                head=dict(
                    type='LinearClsHead', num_classes=10, in_channels=64)))
    file, error = WEIGHTS[depth]
    checkpoint = load_checkpoint(
        model,
        str(file),
        map_location='cpu',
        strict=True,
        revise_keys=[(r'^module\.linear', 'head.fc'),
                     (r'^module\.', 'backbone.')])
    assert len(checkpoint['state_dict']) == len(
        [k for k in model.state_dict() if 'num_batches' not in k])
    images, labels = photos
    assert len(images) == 2000
    model.eval()
    with torch.inference_mode():
        predicted = torch.cat([
            model(batch, mode='tensor').argmax(1)
            for batch in images.split(250)
        ])
    accuracy = predicted.eq(labels).float().mean().item()
    sampling_error = (error / 100 * (1 - error / 100) / len(images))**0.5
    assert abs(accuracy - (1 - error / 100)) < 2 * sampling_error
    print(f'ResNet-{depth}: {100 * accuracy:.2f} %')


@pytest.mark.parametrize('step', [None, 'StepNet', 'SE'])
def test_as_pretrained_backbone(step):
    file, _ = WEIGHTS[20]
    model = CIFARResNet(
        20,
        block='basic',
        shortcut='pad',
        step=step,
        init_cfg=dict(
            type='Pretrained',
            checkpoint=str(file),
            prefix='module',
            map_location='cpu'))
    model.init_weights()
    given = torch.load(file, 'cpu', weights_only=True)['state_dict']
    for key, value in model.state_dict().items():
        if '.step.' not in key and 'num_batches_tracked' not in key:
            assert torch.equal(value, given[f'module.{key}']), key
