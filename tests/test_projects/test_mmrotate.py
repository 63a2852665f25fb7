# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from project import (check_training, load, measured, require, start,
                     write_images)

require('mmrotate.models')


def has_compiled_operators():
    import mmcv._ext
    return getattr(mmcv._ext, '__file__', None) is not None


def test_rotated_faster_rcnn_trains_from_its_config(tmp_path):
    names = write_images(tmp_path / 'images', 4, '.png')
    (tmp_path / 'boxes').mkdir()
    for name in names:
        # a square that stands on its corner
        (tmp_path / 'boxes' /
         f'{name}.txt').write_text('32 8 56 32 32 56 8 32 plane 0\n')
    options = {}
    for split, resize in (('train', 3), ('val', 1)):
        dataset = f'{split}_dataloader__dataset__'
        options.update({
            f'{dataset}data_root': str(tmp_path),
            f'{dataset}ann_file': 'boxes/',
            f'{dataset}data_prefix__img_path': 'images/',
            f'{dataset}pipeline__{resize}__scale': (64, 64),
        })
    cfg = load(
        'mmrotate/rotated-faster-rcnn-le90_r50_stepnet_fpn_1x_dota.py',
        tmp_path / 'work',
        model__neck__in_channels=[32, 64, 128, 256],
        model__neck__out_channels=8,
        model__rpn_head__in_channels=8,
        model__rpn_head__feat_channels=8,
        model__roi_head__bbox_roi_extractor__out_channels=8,
        model__roi_head__bbox_head__in_channels=8,
        model__roi_head__bbox_head__fc_out_channels=16,
        model__test_cfg__rcnn__score_thr=0.0,
        train_cfg__max_epochs=2,
        train_cfg__val_interval=2,
        **options)
    runner, before = start(cfg)
    if has_compiled_operators():
        runner.train()
        assert measured(cfg)['total']['num_samples'] == 4
    else:
        with pytest.raises(
                NotImplementedError,
                match="'nms_rotated' needs a compiled mmcv"):
            runner.train()
    check_training(runner, before, 4)
