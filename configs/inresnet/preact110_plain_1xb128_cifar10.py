# Copyright (c) mmstepnet contributors. All rights reserved.
# The In-ResNet paper's recipe for CIFAR-10: crops out of a border of 4 pixels,
# flips, batch 128, 160 epochs.
_base_ = [
    '../_base_/models/preact110_cifar.py',
    'mmpretrain::_base_/datasets/cifar10_bs16.py',
    '../_base_/schedules/cifar_160e.py',
    'mmpretrain::_base_/default_runtime.py'
]

train_dataloader = dict(batch_size=128)
val_dataloader = dict(batch_size=128)
test_dataloader = dict(batch_size=128)

custom_hooks = [dict(type='mmstepnet.TNSHook')]
