# Copyright (c) mmstepnet contributors. All rights reserved.
# The same weights and recipe as the plain network: the first step sizes are
# constant and the norms scaled, so that it starts at the same outputs.
_base_ = './resnet56-basic_plain_finetune_1xb64_cifar10-mini.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.StepNet')))
