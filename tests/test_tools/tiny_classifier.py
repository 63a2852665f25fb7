# Copyright (c) mmstepnet contributors. All rights reserved.
# A classifier that trains in seconds; the data lies in the working directory.
_base_ = 'mmpretrain::resnet/resnet18_8xb32_in1k.py'

model = dict(
    backbone=dict(
        type='mmstepnet.ResNet',
        depth=18,
        base_channels=8,
        stem_channels=8,
        step=dict(type='mmstepnet.StepNet')),
    head=dict(in_channels=64, num_classes=2, topk=(1, )))

pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=64),
    dict(type='PackInputs')
]
dataset = dict(
    _delete_=True,
    type='CustomDataset',
    data_root='data/classes',
    pipeline=pipeline)
train_dataloader = dict(batch_size=2, num_workers=0, dataset=dataset)
val_dataloader = dict(batch_size=2, num_workers=0, dataset=dataset)
test_dataloader = val_dataloader
val_evaluator = dict(topk=(1, ))
test_evaluator = val_evaluator
train_cfg = dict(max_epochs=1)
default_hooks = dict(logger=dict(interval=1))
