# Copyright (c) mmstepnet contributors. All rights reserved.
# A detector that draws random numbers wherever a training can.
_base_ = '../../tests/test_tools/tiny_detector.py'

# few proposals: what is tried is the training, not the detector
proposals = dict(nms_pre=50, max_per_img=20)
model = dict(
    backbone=dict(depth=34),
    train_cfg=dict(rpn_proposal=proposals),
    test_cfg=dict(rpn=proposals))
pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='Resize', scale=(64, 64), keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PhotoMetricDistortion'),
    dict(type='PackDetInputs')
]
train_dataloader = dict(batch_size=4, dataset=dict(pipeline=pipeline))
val_dataloader = dict(batch_size=4)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.1, by_epoch=False, end=5),
    dict(type='MultiStepLR', milestones=[2, 3], gamma=0.5)
]
train_cfg = dict(max_epochs=3)
default_hooks = dict(
    checkpoint=dict(max_keep_ckpts=2, save_best='tns/total', rule='greater'))
custom_hooks = [dict(type='mmstepnet.TNSHook')]
randomness = dict(seed=1, deterministic=True)
