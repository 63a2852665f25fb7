# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet164_plain_1xb128_stl10.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.SE')))
