# Copyright (c) mmstepnet contributors. All rights reserved.
# Faster R-CNN R50-FPN 1x as MMDetection ships it, on a backbone with a step
# slot. All `faster_rcnn_*` configs inherit this file and fill the slot.
#
# Weights: the backbone starts from torchvision's ImageNet ResNet. Another
# checkpoint is named by
#   --cfg-options model.backbone.init_cfg.checkpoint=PATH_OR_URL
# and one of a whole classifier or detector, such as those that
# `configs/imagenet` gives, by
#   --cfg-options model.backbone.init_cfg.checkpoint=PATH_OR_URL \
#       model.backbone.init_cfg.prefix=backbone.
#
# Freezing: `frozen_stages=1` freezes the plain part of the stem and the first
# stage. Their steps stay trainable, since a plain checkpoint holds none; with
# a checkpoint that holds them add `model.backbone.freeze_steps=True`.
_base_ = 'mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py'

# For MMDetection's own tools: where mmcv has no compiled operators, this
# package has to be there before MMDetection looks for them.
custom_imports = dict(imports=['mmstepnet'])

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet',
        init_cfg=dict(checkpoint='torchvision://resnet50')))

custom_hooks = [dict(type='mmstepnet.TNSHook')]

# 8 GPUs with 2 images each; `--auto-scale-lr` scales the rate to yours.
auto_scale_lr = dict(base_batch_size=16)
