# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = [
    '../_base_/models/vit_cifar.py',
    'mmpretrain::_base_/datasets/cifar10_bs16.py',
    '../_base_/schedules/cifar_adamw_200e.py',
    'mmpretrain::_base_/default_runtime.py'
]

train_dataloader = dict(batch_size=128)
val_dataloader = dict(batch_size=128)
test_dataloader = dict(batch_size=128)

custom_hooks = [dict(type='mmstepnet.TNSHook')]
