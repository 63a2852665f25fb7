# Copyright (c) mmstepnet contributors. All rights reserved.
# A detector that trains in seconds; the data lies in the working directory.
_base_ = 'mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py'

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet',
        depth=18,
        base_channels=8,
        stem_channels=8,
        step=dict(type='mmstepnet.StepNet'),
        frozen_stages=-1,
        norm_eval=False,
        init_cfg=None),
    neck=dict(in_channels=[8, 16, 32, 64], out_channels=8),
    rpn_head=dict(in_channels=8, feat_channels=8),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=8),
        bbox_head=dict(in_channels=8, fc_out_channels=16, num_classes=2)),
    test_cfg=dict(rcnn=dict(score_thr=0.0, max_per_img=10)))

metainfo = dict(classes=('square', 'bar'))
pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='Resize', scale=(64, 64), keep_ratio=True),
    dict(
        type='PackDetInputs',
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape',
                   'scale_factor'))
]
dataset = dict(
    data_root='data/',
    ann_file='scenes.json',
    data_prefix=dict(img='images/'),
    metainfo=metainfo,
    pipeline=pipeline)
train_dataloader = dict(
    batch_size=2, num_workers=0, persistent_workers=False, dataset=dataset)
val_dataloader = dict(num_workers=0, persistent_workers=False, dataset=dataset)
test_dataloader = val_dataloader
val_evaluator = dict(ann_file='data/scenes.json')
test_evaluator = val_evaluator
train_cfg = dict(max_epochs=1)
default_hooks = dict(logger=dict(interval=1))
