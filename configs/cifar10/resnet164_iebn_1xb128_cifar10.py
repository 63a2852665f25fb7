# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet164_plain_1xb128_cifar10.py'

model = dict(
    backbone=dict(
        norm_cfg=dict(type='mmstepnet.IEBN'),
        downsample_norm_cfg=dict(type='BN')))
