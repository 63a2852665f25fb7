# Classify single digits: the pre-training of the quickstart.
_base_ = ['mmpretrain::_base_/default_runtime.py']

max_epochs = 3
batch_size = 64  # over two processes
data_root = 'data/digits/crops/'

model = dict(
    type='ImageClassifier',
    data_preprocessor=dict(
        mean=[127.5] * 3, std=[64.] * 3, to_rgb=True, num_classes=10),
    backbone=dict(
        type='mmstepnet.ResNet',
        depth=34,
        base_channels=32,
        step=dict(type='mmstepnet.StepNet'),
        out_indices=(3, )),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(
        type='LinearClsHead',
        num_classes=10,
        in_channels=256,
        loss=dict(type='CrossEntropyLoss'),
        topk=(1, )))

dataset = dict(type='CustomDataset', data_root=data_root)
train_dataloader = dict(
    batch_size=batch_size // 2,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        **dataset,
        data_prefix='train',
        pipeline=[dict(type='LoadImageFromFile'),
                  dict(type='PackInputs')]))
val_dataloader = dict(
    batch_size=batch_size,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        **dataset,
        data_prefix='val',
        pipeline=[dict(type='LoadImageFromFile'),
                  dict(type='PackInputs')]))
val_evaluator = dict(type='Accuracy', topk=(1, ))
test_dataloader = val_dataloader
test_evaluator = val_evaluator

train_cfg = dict(by_epoch=True, max_epochs=max_epochs, val_interval=1)
val_cfg = dict()
test_cfg = dict()

optim_wrapper = dict(optimizer=dict(type='AdamW', lr=1e-3, weight_decay=0.05))
param_scheduler = dict(
    type='OneCycleLR',
    eta_max=2e-3,
    total_steps=max_epochs,
    by_epoch=True,
    convert_to_iter_based=True)
