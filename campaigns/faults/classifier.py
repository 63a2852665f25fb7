# Copyright (c) mmstepnet contributors. All rights reserved.
# A classifier that draws random numbers wherever a training can.
_base_ = '../../tests/test_tools/tiny_classifier.py'

model = dict(
    backbone=dict(depth=34),
    head=dict(loss=dict(use_soft=True)),
    train_cfg=dict(augments=dict(type='Mixup', alpha=0.5)))
data_preprocessor = dict(num_classes=2)
pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomResizedCrop', scale=32),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackInputs')
]
train_dataloader = dict(batch_size=4, dataset=dict(pipeline=pipeline))
val_dataloader = dict(batch_size=4)
optim_wrapper = dict(optimizer=dict(lr=0.01))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.1, by_epoch=False, end=5),
    dict(type='MultiStepLR', milestones=[2, 3], gamma=0.5)
]
train_cfg = dict(max_epochs=3)
default_hooks = dict(
    checkpoint=dict(max_keep_ckpts=2, save_best='tns/total', rule='greater'))
custom_hooks = [
    dict(type='EMAHook', momentum=0.1),
    dict(type='mmstepnet.TNSHook')
]
randomness = dict(seed=1, deterministic=True)
