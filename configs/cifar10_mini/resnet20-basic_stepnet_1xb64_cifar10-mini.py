# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet20-basic_plain_1xb64_cifar10-mini.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.StepNet')))
