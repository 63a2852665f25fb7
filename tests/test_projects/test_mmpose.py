# Copyright (c) mmstepnet contributors. All rights reserved.
from project import (check_training, load, measured, require, start,
                     write_coco, write_images)

require('mmpose.datasets')


def test_simple_baseline_trains_from_its_config(tmp_path):
    names = write_images(tmp_path / 'images', 4, '.jpg')
    keypoints = [v for i in range(17) for v in (12 + 2 * i, 45 - 2 * i, 2)]
    ann_file = tmp_path / 'persons.json'
    write_coco(
        ann_file, names, 'person', keypoints=keypoints, num_keypoints=17)
    codec = dict(
        type='MSRAHeatmap',
        input_size=(64, 64),
        heatmap_size=(16, 16),
        sigma=2)
    options = {}
    for split, places in (('train', (5, 6)), ('val', (2, ))):
        dataset = f'{split}_dataloader__dataset__'
        options.update({
            f'{dataset}data_root':
            '',
            f'{dataset}ann_file':
            str(ann_file),
            f'{dataset}data_prefix__img':
            str(tmp_path / 'images') + '/',
            f'{dataset}pipeline__{places[0]}__input_size': (64, 64),
        })
    cfg = load(
        'mmpose/td-hm_r50_stepnet_8xb64-210e_coco-256x192.py',
        tmp_path / 'work',
        model__head__in_channels=256,
        model__head__deconv_out_channels=(8, 8, 8),
        model__head__decoder=codec,
        train_dataloader__dataset__pipeline__6__encoder=codec,
        val_dataloader__dataset__bbox_file=None,
        val_evaluator__ann_file=str(ann_file),
        train_cfg__max_epochs=2,
        train_cfg__val_interval=2,
        **options)
    runner, before = start(cfg)
    runner.train()
    check_training(runner, before, 4)
    assert measured(cfg)['total']['num_samples'] == 4
    assert runner.message_hub.get_scalar('val/coco/AP').current() >= 0
