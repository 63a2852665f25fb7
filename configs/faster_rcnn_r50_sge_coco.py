# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './faster_rcnn_r50_plain_coco.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.SGE')))
