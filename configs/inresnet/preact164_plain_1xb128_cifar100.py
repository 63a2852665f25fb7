# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './preact110_plain_1xb128_cifar100.py'

model = dict(
    backbone=dict(depth=164, block='bottleneck'), head=dict(in_channels=256))
