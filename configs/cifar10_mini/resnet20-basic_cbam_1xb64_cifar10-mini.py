# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet20-basic_plain_1xb64_cifar10-mini.py'

# The width of the channel gate is at least 8: the paper's parameter count.
model = dict(backbone=dict(step=dict(type='mmstepnet.CBAM', min_width=8)))
