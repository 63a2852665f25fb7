# Copyright (c) mmstepnet contributors. All rights reserved.
"""A ResNet-56 that others trained, as the start of every step's network."""
import os
from pathlib import Path

import pytest
import torch
from sources import error
from torchvision import datasets, transforms

from mmstepnet.backbones import CIFARResNet
from mmstepnet.checkpoints import load_weights, warm_start
from mmstepnet.steps import available_steps

DATA = Path(
    os.environ.get('MMSTEPNET_TEST_DATA',
                   Path(__file__).parents[3] / 'shared' / 'data'))
OPTIONS = {
    'InResNet': dict(init_range=(0., 0.)),
    'LambdaInResNet': dict(init_range=(0., 0.)),
    'SGE': dict(groups=8),
}
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f'no test data at {DATA}')


@pytest.fixture(scope='module')
def weights():
    return load_weights(str(DATA / 'weights/resnet56-4bfd9763.th'))


@pytest.fixture(scope='module')
def photos():
    """Forty photos, four of each class."""
    transform = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    ])
    folder = datasets.ImageFolder(DATA / 'cifar10_mini/test', transform)
    chosen = [folder[i] for i in range(0, len(folder), 50)]
    images, labels = zip(*chosen)
    return torch.stack(images), torch.tensor(labels)


@torch.inference_mode()
def logits(step, weights, images):
    if step is not None:
        step = dict(type=step, **OPTIONS.get(step, {}))
    torch.manual_seed(0)
    model = CIFARResNet(56, block='basic', shortcut='pad', step=step).eval()
    report = warm_start(model, weights)
    assert report.left == ['module.linear.weight', 'module.linear.bias']
    features = model(images)[-1].mean((2, 3))
    return torch.nn.functional.linear(features,
                                      weights['module.linear.weight'],
                                      weights['module.linear.bias'])


@pytest.fixture(scope='module')
def expected(weights, photos):
    return logits(None, weights, photos[0])


def test_the_plain_network_knows_the_photos(expected, photos):
    assert expected.argmax(1).eq(photos[1]).float().mean() >= .85


@pytest.mark.parametrize('step', sorted({*available_steps()} - {'Unit'}))
def test_no_photo_is_classified_otherwise(step, weights, photos, expected):
    got = logits(step, weights, photos[0])
    assert got.argmax(1).equal(expected.argmax(1))
    assert error(got, expected) <= 1e-5
