# Copyright (c) mmstepnet contributors. All rights reserved.
# A transformer of 7 layers on patches of 4x4, from scratch.
_base_ = [
    'mmpretrain::_base_/datasets/cifar10_bs16.py',
    '../_base_/schedules/cifar_adamw_200e.py',
    'mmpretrain::_base_/default_runtime.py'
]

model = dict(
    type='ImageClassifier',
    backbone=dict(type='mmstepnet.VisionTransformer'),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=256,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))

train_dataloader = dict(batch_size=128)
val_dataloader = dict(batch_size=128)
test_dataloader = dict(batch_size=128)

custom_hooks = [dict(type='mmstepnet.TNSHook')]
