# Copyright (c) mmstepnet contributors. All rights reserved.
"""Attacks on a ResNet-20 that others trained on CIFAR-10."""
import numpy as np
import pytest
import torch
from mmengine.structures import BaseDataElement

from mmstepnet.evaluation import PixelBatches, PixelClassifier
from mmstepnet.evaluation.session import load_classifier_weights
from mmstepnet.robustness import (evaluate_robustness, noise_case,
                                  standard_cases)

pytestmark = pytest.mark.mmpretrain


@pytest.fixture(scope='module')
def network(test_data):
    pytest.importorskip('mmpretrain')
    from mmstepnet.registry import MODELS
    model = MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            data_preprocessor=dict(
                mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375]),
            backbone=dict(
                type='mmstepnet.CIFARResNet',
                depth=20,
                block='basic',
                shortcut='pad'),
            neck=dict(type='mmpretrain.GlobalAveragePooling'),
            head=dict(
                type='mmpretrain.LinearClsHead',
                num_classes=10,
                in_channels=64)))
    load_classifier_weights(model,
                            str(test_data / 'weights/resnet20-12fca82f.th'))
    return PixelClassifier(model.eval())


@pytest.fixture(scope='module')
def photos(test_data):
    from PIL import Image
    folders = sorted((test_data / 'cifar10_mini/test').iterdir())
    return [
        dict(
            inputs=torch.from_numpy(np.array(
                Image.open(path).convert('RGB'))).permute(2, 0, 1),
            data_samples=BaseDataElement(gt_label=torch.tensor([label])))
        for label, folder in enumerate(folders)
        for path in sorted(folder.iterdir())[:6]
    ]


def test_it_breaks_under_attack(network, photos, tmp_path):
    cases = standard_cases(
        radii=(1, 4), noises=(), steps=3) + [noise_case('gaussian', 5)]
    clean, *attacked, noisy = evaluate_robustness(network,
                                                  PixelBatches(photos, 30),
                                                  cases, str(tmp_path))
    assert clean.accuracy > 0.85
    results = {(row.group, row.level): row for row in attacked}
    for name in ('fgsm', 'ifgsm', 'pgd'):
        weak, strong = results[name, 1], results[name, 4]
        assert clean.loss < weak.loss < strong.loss
        assert clean.accuracy > weak.accuracy > strong.accuracy
        assert weak.max_norm <= 1 and strong.max_norm <= 4
    assert results['ifgsm', 4].loss > results['fgsm', 4].loss
    assert noisy.accuracy < clean.accuracy
