# Copyright (c) mmstepnet contributors. All rights reserved.
# MMPose's SimpleBaseline (top-down heatmaps) R50 with StepNet in its backbone.
_base_ = ('mmpose::body_2d_keypoint/topdown_heatmap/coco/'
          'td-hm_res50_8xb64-210e_coco-256x192.py')

custom_imports = dict(imports=['mmstepnet'])

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet',
        out_indices=(3, ),
        step=dict(type='mmstepnet.StepNet')))

custom_hooks = _base_.custom_hooks + [dict(type='mmstepnet.TNSHook')]
