# Copyright (c) mmstepnet contributors. All rights reserved.
# MMSegmentation's PSPNet R50-D8 with StepNet in its backbone. The stock
# ResNetV1c is a ResNet with a deep stem; the weights move from `pretrained`
# to the backbone's `init_cfg`.
_base_ = 'mmseg::pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512.py'

custom_imports = dict(imports=['mmstepnet'])

model = dict(
    pretrained=None,
    backbone=dict(
        type='mmstepnet.ResNet',
        deep_stem=True,
        step=dict(type='mmstepnet.StepNet'),
        init_cfg=dict(
            type='Pretrained', checkpoint='open-mmlab://resnet50_v1c')))

custom_hooks = [dict(type='mmstepnet.TNSHook')]

# 4 GPUs with 4 images each
auto_scale_lr = dict(base_batch_size=16)
