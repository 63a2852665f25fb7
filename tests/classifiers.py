# Copyright (c) mmstepnet contributors. All rights reserved.
"""Small classifiers and data for tests."""
import pytest
import torch
from mmengine.structures import BaseDataElement


def tiny_classifier(seed=0, **backbone):
    """An MMPretrain classifier of 8-bit RGB images stored as BGR."""
    pytest.importorskip('mmpretrain')
    from mmstepnet.registry import MODELS
    torch.manual_seed(seed)
    backbone = dict(
        dict(
            type='mmstepnet.ResNet',
            depth=18,
            base_channels=8,
            out_indices=(3, )), **backbone)
    return MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            data_preprocessor=dict(
                mean=[125., 123., 114.], std=[51., 52., 53.], to_rgb=True),
            backbone=backbone,
            neck=dict(type='mmpretrain.GlobalAveragePooling'),
            head=dict(
                type='mmpretrain.LinearClsHead',
                num_classes=10,
                in_channels=64))).eval()


def tiny_dataset(number=12, size=16, num_classes=10):
    """What a pipeline that ends in ``PackInputs`` gives."""
    generator = torch.Generator().manual_seed(0)
    return [
        dict(
            inputs=torch.randint(
                0,
                256, (3, size, size),
                dtype=torch.uint8,
                generator=generator),
            data_samples=BaseDataElement(
                gt_label=torch.tensor([i % num_classes])))
        for i in range(number)
    ]
