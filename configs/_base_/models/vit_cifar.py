# Copyright (c) mmstepnet contributors. All rights reserved.
# A transformer of 7 layers on patches of 4x4, from scratch.
model = dict(
    type='ImageClassifier',
    backbone=dict(type='mmstepnet.VisionTransformer'),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=256,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))
