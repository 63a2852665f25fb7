# Copyright (c) mmstepnet contributors. All rights reserved.
# A network of 29 layers that two CPU cores train in minutes, on a tenth of
# CIFAR-10's training images: a folder a class below `data_root`, 500 images
# each in `train`, 200 in `test`. All other folders of images work the same
# way, with their own `classes`.
_base_ = [
    '../_base_/models/resnet164_cifar.py', '../_base_/schedules/cifar_164e.py',
    'mmpretrain::_base_/default_runtime.py'
]

data_root = 'data/cifar10_mini/'
classes = ('airplane', 'automobile', 'bird', 'cat', 'deer', 'dog', 'frog',
           'horse', 'ship', 'truck')
max_epochs = 4

model = dict(backbone=dict(depth=29))

data_preprocessor = dict(
    num_classes=len(classes),
    # RGB format
    mean=[125.307, 122.961, 113.8575],
    std=[51.5865, 50.847, 51.255],
    to_rgb=True)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomCrop', crop_size=32, padding=4),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='PackInputs')
]
test_pipeline = [dict(type='LoadImageFromFile'), dict(type='PackInputs')]
dataset = dict(
    type='CustomDataset', data_root=data_root, metainfo=dict(classes=classes))

train_dataloader = dict(
    batch_size=64,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(**dataset, data_prefix='train', pipeline=train_pipeline))
val_dataloader = dict(
    batch_size=250,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(**dataset, data_prefix='test', pipeline=test_pipeline))
val_evaluator = dict(type='Accuracy', topk=(1, ))
test_dataloader = val_dataloader
test_evaluator = val_evaluator

train_cfg = dict(max_epochs=max_epochs, val_interval=max_epochs)
param_scheduler = dict(
    _delete_=True,
    type='OneCycleLR',
    eta_max=0.1,
    total_steps=max_epochs,
    by_epoch=True,
    convert_to_iter_based=True)
auto_scale_lr = dict(base_batch_size=64)
default_hooks = dict(checkpoint=dict(interval=max_epochs))

custom_hooks = [dict(type='mmstepnet.TNSHook')]
