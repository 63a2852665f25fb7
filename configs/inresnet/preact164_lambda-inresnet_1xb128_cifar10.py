# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './preact164_plain_1xb128_cifar10.py'

model = dict(
    backbone=dict(
        step=dict(type='mmstepnet.LambdaInResNet', init_range=(0.1, 0.2))))
