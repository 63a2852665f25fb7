# Copyright (c) mmstepnet contributors. All rights reserved.
# StepNet in place of the attention.
_base_ = './vit_plain_1xb128_cifar10.py'

model = dict(
    backbone=dict(attention=False, step=dict(type='mmstepnet.StepNet')))
