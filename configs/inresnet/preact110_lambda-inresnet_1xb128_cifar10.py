# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './preact110_plain_1xb128_cifar10.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.LambdaInResNet')))
