# Copyright (c) mmstepnet contributors. All rights reserved.
# Ablation: the adaptor sees the difference of the two states only.
_base_ = './resnet164_stepnet_1xb128_cifar10.py'

model = dict(backbone=dict(step=dict(inputs='difference')))
