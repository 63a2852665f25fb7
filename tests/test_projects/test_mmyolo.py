# Copyright (c) mmstepnet contributors. All rights reserved.
from project import (check_training, load, measured, require, start,
                     write_coco, write_images)

require('mmyolo')


def small(pipeline):
    """A pipeline for images of 64 pixels instead of 640."""
    for transform in pipeline:
        for key in ('scale', 'img_scale', 'crop_size', 'size'):
            if key in transform:
                transform[key] = tuple(n // 10 for n in transform[key])


def test_rtmdet_trains_from_its_config(tmp_path):
    names = write_images(tmp_path / 'images', 4, '.jpg')
    write_coco(tmp_path / 'boxes.json', names, 'person')
    options = {}
    for split in ('train', 'val'):
        dataset = f'{split}_dataloader__dataset__'
        options.update({
            f'{dataset}data_root': str(tmp_path),
            f'{dataset}ann_file': 'boxes.json',
            f'{dataset}data_prefix__img': 'images/',
            f'{dataset}metainfo': dict(classes=('person', )),
        })
    cfg = load(
        'mmyolo/rtmdet-l_r50_stepnet_syncbn_fast_8xb32-300e_coco.py',
        tmp_path / 'work',
        model__neck__in_channels=[64, 128, 256],
        model__neck__out_channels=16,
        model__bbox_head__head_module__num_classes=1,
        model__bbox_head__head_module__in_channels=16,
        model__bbox_head__head_module__feat_channels=16,
        model__train_cfg__assigner__num_classes=1,
        val_dataloader__dataset__batch_shapes_cfg=None,
        val_evaluator__ann_file=str(tmp_path / 'boxes.json'),
        train_cfg__max_epochs=2,
        train_cfg__val_interval=2,
        train_cfg__dynamic_intervals=None,
        **options)
    for split in ('train', 'val'):
        small(cfg[f'{split}_dataloader'].dataset.pipeline)
    runner, before = start(cfg)
    runner.train()
    check_training(runner, before, 4)
    assert measured(cfg)['total']['num_samples'] == 4
    assert runner.message_hub.get_scalar('val/coco/bbox_mAP').current() >= 0
