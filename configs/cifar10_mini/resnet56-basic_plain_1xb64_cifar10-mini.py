# Copyright (c) mmstepnet contributors. All rights reserved.
# The network of He et al. (2016) with basic blocks and parameter-free
# shortcuts, and the preprocessing of the weights that others have trained
# for it.
_base_ = 'resnet29_plain_1xb64_cifar10-mini.py'

model = dict(
    backbone=dict(depth=56, block='basic', shortcut='pad'),
    head=dict(in_channels=64))
data_preprocessor = dict(
    mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])
