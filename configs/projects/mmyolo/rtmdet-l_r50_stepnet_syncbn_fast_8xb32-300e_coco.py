# Copyright (c) mmstepnet contributors. All rights reserved.
# MMYOLO's RTMDet-l on ResNet-50 with StepNet. torchvision's weights want RGB.
_base_ = 'mmyolo::rtmdet/rtmdet_l_syncbn_fast_8xb32-300e_coco.py'

custom_imports = dict(imports=['mmstepnet'])

model = dict(
    data_preprocessor=dict(
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True),
    backbone=dict(
        _delete_=True,
        type='mmstepnet.ResNet',
        depth=50,
        out_indices=(1, 2, 3),
        step=dict(type='mmstepnet.StepNet'),
        init_cfg=dict(type='Pretrained', checkpoint='torchvision://resnet50')),
    neck=dict(in_channels=[512, 1024, 2048]))

# `mmyolo::` leaves a `_scope_` in here, which the function doesn't take.
train_dataloader = dict(collate_fn=dict(_delete_=True, type='yolov5_collate'))

custom_hooks = _base_.custom_hooks + [dict(type='mmstepnet.TNSHook')]

# 8 GPUs with 32 images each
auto_scale_lr = dict(base_batch_size=256)
