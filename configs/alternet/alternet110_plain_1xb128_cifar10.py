# Copyright (c) mmstepnet contributors. All rights reserved.
# Pre-activation ResNet with self-attention at the end of its stages, to put
# beside ../inresnet/preact110_plain_1xb128_cifar10.py and
# ../cifar10/vit_plain_1xb128_cifar10.py; the recipe is that of the former.
_base_ = '../inresnet/preact110_plain_1xb128_cifar10.py'

model = dict(backbone=dict(type='mmstepnet.CIFARAlterNet'))
