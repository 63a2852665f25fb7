# Copyright (c) mmstepnet contributors. All rights reserved.
# A thin ResNet-34 with StepNet that learns single handwritten digits: the
# pre-training of faster_rcnn_r34_stepnet_digits.py. The data set is written by
# tools/dataset_converters/digits_scenes.py.
_base_ = 'mmpretrain::_base_/default_runtime.py'

max_epochs = 6

model = dict(
    type='ImageClassifier',
    data_preprocessor=dict(mean=[127.5] * 3, std=[64.] * 3, to_rgb=True),
    backbone=dict(
        type='mmstepnet.ResNet',
        depth=34,
        base_channels=16,
        step=dict(type='mmstepnet.StepNet'),
        out_indices=(3, ),
        # Blocks that start as the identity need a longer training.
        zero_init_residual=False),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=128,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))

dataset = dict(
    type='CustomDataset',
    data_root='data/digits/crops/',
    pipeline=[dict(type='LoadImageFromFile'),
              dict(type='PackInputs')])
train_dataloader = dict(
    batch_size=32,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(**dataset, data_prefix='train'))
val_dataloader = dict(
    batch_size=32,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(**dataset, data_prefix='val'))
test_dataloader = val_dataloader
val_evaluator = dict(type='Accuracy', topk=(1, ))
test_evaluator = val_evaluator

train_cfg = dict(by_epoch=True, max_epochs=max_epochs, val_interval=1)
val_cfg = dict()
test_cfg = dict()
optim_wrapper = dict(optimizer=dict(type='AdamW', lr=4e-3, weight_decay=0.05))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(
        type='CosineAnnealingLR',
        eta_min=1e-5,
        begin=0,
        end=max_epochs,
        T_max=max_epochs,
        by_epoch=True,
        convert_to_iter_based=True)
]
auto_scale_lr = dict(base_batch_size=64)

default_hooks = dict(
    logger=dict(interval=30),
    # The oldest one is removed before the newest one is whole.
    checkpoint=dict(max_keep_ckpts=2))
# The processes' batch norms see different pictures.
custom_hooks = [dict(type='SyncBuffersHook'), dict(type='mmstepnet.TNSHook')]
randomness = dict(seed=0)
