# Copyright (c) mmstepnet contributors. All rights reserved.
import cv2
import numpy as np
import pytest
import torch
from project import (check_training, load, measured, require, start,
                     write_images)

require('mmseg')


@pytest.fixture
def data(tmp_path):
    for split in ('training', 'validation'):
        names = write_images(tmp_path / 'images' / split, 4, '.jpg')
        masks = tmp_path / 'annotations' / split
        masks.mkdir(parents=True)
        for i, name in enumerate(names):
            mask = np.full((64, 64), i + 1, np.uint8)
            mask[:, 32:] = 150
            cv2.imwrite(str(masks / f'{name}.png'), mask)
    return tmp_path


def test_psp_net_trains_from_its_config(data, tmp_path):
    cfg = load(
        'mmseg/pspnet_r50-d8_stepnet_4xb4-80k_ade20k-512x512.py',
        tmp_path / 'work',
        model__data_preprocessor__size=(64, 64),
        model__decode_head__in_channels=256,
        model__decode_head__channels=8,
        model__auxiliary_head__in_channels=128,
        model__auxiliary_head__channels=8,
        train_dataloader__dataset__data_root=str(data),
        train_dataloader__dataset__pipeline__2__scale=(128, 64),
        train_dataloader__dataset__pipeline__3__crop_size=(64, 64),
        val_dataloader__dataset__data_root=str(data),
        val_dataloader__dataset__pipeline__1__scale=(128, 64),
        train_cfg__max_iters=3,
        train_cfg__val_interval=3)
    runner, before = start(cfg)
    dilations = [
        block.conv2.dilation[0] for block in runner.model.backbone.blocks()
    ]
    assert dilations == [1] * 7 + [1] + [2] * 5 + [2] + [4] * 2
    runner.train()
    check_training(runner, before, 3)
    assert measured(cfg)['total']['num_samples'] == 4
    assert runner.message_hub.get_scalar('val/mIoU').current() >= 0


@pytest.mark.parametrize('kwargs', [
    dict(contract_dilation=True),
    dict(multi_grid=(1, 2, 4), avg_down=True),
])
def test_a_plain_one_is_the_stock_network(kwargs):
    from mmengine.registry import MODELS
    from mmseg.utils import register_all_modules
    register_all_modules(init_default_scope=False)
    kwargs = dict(
        depth=50,
        base_channels=8,
        stem_channels=8,
        deep_stem=True,
        strides=(1, 2, 1, 1),
        dilations=(1, 1, 2, 4),
        **kwargs)
    stock = MODELS.build(dict(type='mmseg.ResNet', **kwargs))
    ours = MODELS.build(dict(type='mmstepnet.ResNet', **kwargs))
    ours.load_state_dict(stock.state_dict())
    stock.eval()
    ours.eval()
    images = torch.rand(1, 3, 64, 64)
    for expected, out in zip(stock(images), ours(images)):
        assert torch.equal(out, expected)
