# Copyright (c) mmstepnet contributors. All rights reserved.
# The In-ResNet paper's recipe for CIFAR-100: crops out of a border of 4 pixels,
# flips, batch 128, 300 epochs.
_base_ = [
    '../_base_/models/preact110_cifar.py',
    'mmpretrain::_base_/datasets/cifar100_bs16.py',
    '../_base_/schedules/cifar_300e.py',
    'mmpretrain::_base_/default_runtime.py'
]

model = dict(head=dict(num_classes=100))

train_dataloader = dict(batch_size=128)
val_dataloader = dict(batch_size=128)
test_dataloader = dict(batch_size=128)

custom_hooks = [dict(type='mmstepnet.TNSHook')]
