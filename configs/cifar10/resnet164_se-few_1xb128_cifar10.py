# Copyright (c) mmstepnet contributors. All rights reserved.
# Attention in every sixth block: which blocks take the step is a choice.
_base_ = './resnet164_se_1xb128_cifar10.py'

model = dict(backbone=dict(step_blocks=[(0, 6, 12)] * 3))
