# Copyright (c) mmstepnet contributors. All rights reserved.
# The paper's setting starts from a StepNet trained on ImageNet:
#   --cfg-options model.backbone.init_cfg.checkpoint=PATH_OR_URL \
#       model.backbone.init_cfg.prefix=backbone. model.backbone.freeze_steps=True
# What these mean is said in faster_rcnn_r50_plain_coco.py.
_base_ = './faster_rcnn_r50_plain_coco.py'

model = dict(backbone=dict(step=dict(type='mmstepnet.StepNet')))
