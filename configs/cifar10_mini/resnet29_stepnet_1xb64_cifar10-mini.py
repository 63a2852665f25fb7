# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet29_plain_1xb64_cifar10-mini.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.StepNet')))
