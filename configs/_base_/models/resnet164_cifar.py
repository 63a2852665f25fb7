# Copyright (c) mmstepnet contributors. All rights reserved.
# ResNet of 164 layers for small images, the network of the paper.
model = dict(
    type='ImageClassifier',
    backbone=dict(type='mmstepnet.CIFARResNet', depth=164),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=256,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))
