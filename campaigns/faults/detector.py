# Copyright (c) mmstepnet contributors. All rights reserved.
# A detector that draws random numbers wherever a training can.
_base_ = '../../tests/test_tools/tiny_detector.py'

model = dict(backbone=dict(depth=34))
pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='Resize', scale=(64, 64), keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PhotoMetricDistortion'),
    dict(type='PackDetInputs')
]
train_dataloader = dict(batch_size=4, dataset=dict(pipeline=pipeline))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.1, by_epoch=False, end=5),
    dict(type='MultiStepLR', milestones=[2, 3], gamma=0.5)
]
train_cfg = dict(max_epochs=4)
default_hooks = dict(
    checkpoint=dict(max_keep_ckpts=2, save_best='tns/total', rule='greater'))
custom_hooks = [dict(type='mmstepnet.TNSHook')]
randomness = dict(seed=1, deterministic=True)
