# Copyright (c) mmstepnet contributors. All rights reserved.
# Pre-activation ResNet of 110 layers, of basic blocks.
model = dict(
    type='ImageClassifier',
    backbone=dict(
        type='mmstepnet.PreActCIFARResNet', depth=110, block='basic'),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=64,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))
