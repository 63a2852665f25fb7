# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet164_plain_1xb128_cifar100.py'

# The width of the channel gate is at least 8: the paper's parameter count.
model = dict(backbone=dict(step=dict(type='mmstepnet.CBAM', min_width=8)))
