# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './preact110_plain_1xb128_cifar10.py'

model = dict(
    backbone=dict(
        _delete_=True,
        type='mmstepnet.CIFARResNet',
        depth=29,
        base_channels=64,
        groups=8,
        width_ratio=8),
    head=dict(in_channels=1024))
optim_wrapper = dict(optimizer=dict(lr=0.05, weight_decay=5e-4))
