# Copyright (c) mmstepnet contributors. All rights reserved.
# STL-10, 96x96: 5,000 training and 8,000 test images in a folder a class, as
# tools/dataset_converters/stl10.py writes them. The paper doesn't say how it
# crops and flips them: as for CIFAR here, out of a border of 12 pixels.
_base_ = [
    '../_base_/models/resnet164_cifar.py', '../_base_/schedules/cifar_164e.py',
    'mmpretrain::_base_/default_runtime.py'
]

data_root = 'data/stl10/'
classes = ('airplane', 'bird', 'car', 'cat', 'deer', 'dog', 'horse', 'monkey',
           'ship', 'truck')

data_preprocessor = dict(
    num_classes=10,
    # RGB format, those of ImageNet
    mean=[123.675, 116.28, 103.53],
    std=[58.395, 57.12, 57.375],
    to_rgb=True)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomCrop', crop_size=96, padding=12),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='PackInputs')
]
test_pipeline = [dict(type='LoadImageFromFile'), dict(type='PackInputs')]
dataset = dict(
    type='CustomDataset', data_root=data_root, metainfo=dict(classes=classes))

train_dataloader = dict(
    batch_size=128,
    num_workers=2,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(**dataset, data_prefix='train', pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=128,
    num_workers=2,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(**dataset, data_prefix='test', pipeline=test_pipeline))
val_evaluator = dict(type='Accuracy', topk=(1, ))
test_dataloader = val_dataloader
test_evaluator = val_evaluator

custom_hooks = [dict(type='mmstepnet.TNSHook')]
