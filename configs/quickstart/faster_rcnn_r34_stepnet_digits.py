# Copyright (c) mmstepnet contributors. All rights reserved.
# A small Faster R-CNN on the backbone of resnet34_stepnet_digits.py, for
# scenes of handwritten digits. The data set is written by
# tools/dataset_converters/digits_scenes.py.
_base_ = '../faster_rcnn_r50_stepnet_coco.py'

max_epochs = 6
data_root = 'data/digits/'
classes = tuple('0123456789')

model = dict(
    data_preprocessor=dict(mean=[127.5] * 3, std=[64.] * 3),
    backbone=dict(
        depth=34,
        base_channels=16,
        frozen_stages=-1,
        norm_eval=False,
        init_cfg=dict(
            checkpoint='work_dirs/quickstart/classifier/epoch_6.pth',
            prefix='backbone.')),
    neck=dict(in_channels=[16, 32, 64, 128], out_channels=64, num_outs=4),
    rpn_head=dict(
        in_channels=64,
        feat_channels=64,
        anchor_generator=dict(
            scales=[5], ratios=[1.0, 1.6, 2.5], strides=[4, 8, 16, 32])),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=64, finest_scale=28),
        bbox_head=dict(
            in_channels=64, fc_out_channels=256, num_classes=len(classes))),
    train_cfg=dict(
        rpn=dict(sampler=dict(num=128)),
        rpn_proposal=dict(nms_pre=200, max_per_img=100),
        rcnn=dict(sampler=dict(num=64))),
    test_cfg=dict(
        rpn=dict(nms_pre=200, max_per_img=100), rcnn=dict(max_per_img=50)))

load = dict(type='LoadImageFromFile')
boxes = dict(type='LoadAnnotations', with_bbox=True)
size = dict(type='Resize', scale=(160, 160), keep_ratio=True)
train_pipeline = [load, boxes, size, dict(type='PackDetInputs')]
test_pipeline = [
    load, size, boxes,
    dict(
        type='PackDetInputs',
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape',
                   'scale_factor'))
]
dataset = dict(data_root=data_root, metainfo=dict(classes=classes))
train_dataloader = dict(
    batch_size=4,
    num_workers=0,
    persistent_workers=False,
    dataset=dict(
        **dataset,
        ann_file='annotations/train.json',
        data_prefix=dict(img='train/'),
        pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=4,
    num_workers=0,
    persistent_workers=False,
    dataset=dict(
        **dataset,
        ann_file='annotations/val.json',
        data_prefix=dict(img='val/'),
        pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(ann_file=data_root + 'annotations/val.json')
test_evaluator = val_evaluator

train_cfg = dict(max_epochs=max_epochs, val_interval=1)
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type='AdamW', lr=1e-3, weight_decay=0.05),
    clip_grad=dict(max_norm=10))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(
        type='CosineAnnealingLR',
        eta_min=1e-5,
        begin=0,
        end=max_epochs,
        T_max=max_epochs,
        by_epoch=True,
        convert_to_iter_based=True)
]
auto_scale_lr = dict(base_batch_size=8)

default_hooks = dict(
    logger=dict(interval=20),
    # The oldest one is removed before the newest one is whole.
    checkpoint=dict(max_keep_ckpts=2))
# The processes' batch norms see different scenes.
custom_hooks = [dict(type='SyncBuffersHook'), dict(type='mmstepnet.TNSHook')]
randomness = dict(seed=0)
