# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet29_plain_1xb64_cifar10-mini.py'

model = dict(
    backbone=dict(
        norm_cfg=dict(type='mmstepnet.IEBN'),
        downsample_norm_cfg=dict(type='BN')))
