# Copyright (c) mmstepnet contributors. All rights reserved.
# A small Faster R-CNN with StepNet that learns blood cells from scratch on a
# CPU: 205 microscope photos at 256x192, no pretrained weights. The data set,
# BCCD in COCO format, is expected at `data_root`.
_base_ = './faster_rcnn_r50_stepnet_coco.py'

data_root = 'data/bccd/'
classes = ('RBC', 'WBC', 'Platelets')

model = dict(
    backbone=dict(depth=34, frozen_stages=-1, norm_eval=False, init_cfg=None),
    neck=dict(in_channels=[64, 128, 256, 512], out_channels=64),
    rpn_head=dict(
        in_channels=64, feat_channels=64, anchor_generator=dict(scales=[4])),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=64),
        bbox_head=dict(
            in_channels=64, fc_out_channels=256, num_classes=len(classes))),
    train_cfg=dict(
        rpn_proposal=dict(nms_pre=500, max_per_img=300),
        rcnn=dict(sampler=dict(num=128))),
    test_cfg=dict(rpn=dict(nms_pre=500, max_per_img=300)))

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='Resize', scale=(256, 192), keep_ratio=True),
    dict(
        type='RandomFlip',
        prob=[0.25, 0.25, 0.25],
        direction=['horizontal', 'vertical', 'diagonal']),
    dict(type='PackDetInputs')
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(256, 192), keep_ratio=True),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(
        type='PackDetInputs',
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape',
                   'scale_factor'))
]
dataset = dict(
    type='mmstepnet.StrictCocoDataset',
    data_root=data_root,
    metainfo=dict(classes=classes),
    data_prefix=dict(img='images/'))
train_dataloader = dict(
    batch_size=4,
    dataset=dict(**dataset, ann_file='train.json', pipeline=train_pipeline))
val_dataloader = dict(
    dataset=dict(**dataset, ann_file='val.json', pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(ann_file=data_root + 'val.json', classwise=True)
test_evaluator = val_evaluator

train_cfg = dict(max_epochs=16, val_interval=2)
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type='AdamW', lr=1e-3, weight_decay=0.05),
    clip_grad=dict(max_norm=10))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=100),
    dict(
        type='CosineAnnealingLR',
        eta_min=1e-5,
        begin=0,
        end=16,
        T_max=16,
        by_epoch=True,
        convert_to_iter_based=True)
]
auto_scale_lr = dict(base_batch_size=4)
randomness = dict(seed=0)
