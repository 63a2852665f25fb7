# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet50_plain_8xb32_in1k.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.CBAM')))
