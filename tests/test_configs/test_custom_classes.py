# Copyright (c) mmstepnet contributors. All rights reserved.
"""The config for a folder of images for each class."""
import cv2
import numpy as np
import pytest
from mmengine.registry import DATASETS, DefaultScope
from repo_configs import build, load

pytestmark = pytest.mark.mmpretrain


def test_images_of_any_size_in_folders(tmp_path):
    cfg = load('resnet50_stepnet_custom.py')
    for i, name in enumerate(cfg.classes):
        (tmp_path / name).mkdir()
        pixels = np.zeros((50 + 9 * i, 60, 3), np.uint8)
        cv2.imwrite(str(tmp_path / name / 'a photo.jpg'), pixels)
    for split in ('train', 'val', 'test'):
        dataset = cfg[f'{split}_dataloader'].dataset
        dataset.data_root = str(tmp_path)
        with DefaultScope.overwrite_default_scope('mmpretrain'):
            samples = list(DATASETS.build(dataset))
        assert [tuple(s['inputs'].shape)
                for s in samples] == [(3, 224, 224)] * 2
        labels = [s['data_samples'].gt_label.item() for s in samples]
        assert labels == [0, 1]
    model = build(
        dict(cfg.model, data_preprocessor=cfg.data_preprocessor), 'mmpretrain')
    assert model.head.fc.out_features == len(cfg.classes)
    assert model.data_preprocessor.num_classes == len(cfg.classes)
