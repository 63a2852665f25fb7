# Copyright (c) mmstepnet contributors. All rights reserved.
# MMRotate's rotated Faster R-CNN R50 with StepNet in its backbone. Its
# assigners compare upright boxes, which takes no compiled operator of mmcv;
# its validation needs nms_rotated and box_iou_rotated.
_base_ = 'mmrotate::rotated_faster_rcnn/rotated-faster-rcnn-le90_r50_fpn_1x_dota.py'

custom_imports = dict(imports=['mmstepnet'])

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet', step=dict(type='mmstepnet.StepNet')))

custom_hooks = [dict(type='mmstepnet.TNSHook')]

# 1 GPU with 2 images
auto_scale_lr = dict(base_batch_size=2)
