# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet34_plain_8xb32_in1k.py'

model = dict(
    backbone=dict(step=[
        dict(type='mmstepnet.FCA', size=size) for size in (56, 28, 14, 7)
    ]))
