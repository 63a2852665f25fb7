# Copyright (c) mmstepnet contributors. All rights reserved.
# MMRotate's rotated RetinaNet R50 with StepNet in its backbone. The stock
# config assigns by the overlaps of circumscribed upright boxes; the calculator
# named here gives the same without a compiled operator of mmcv, so training
# needs none. Validation needs nms_rotated and box_iou_rotated.
_base_ = 'mmrotate::rotated_retinanet/rotated-retinanet-hbox-le90_r50_fpn_1x_dota.py'

custom_imports = dict(imports=['mmstepnet'])

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet', step=dict(type='mmstepnet.StepNet')),
    train_cfg=dict(
        assigner=dict(iou_calculator=dict(type='RBbox2HBboxOverlaps2D'))))

custom_hooks = [dict(type='mmstepnet.TNSHook')]

# 1 GPU with 2 images
auto_scale_lr = dict(base_batch_size=2)
