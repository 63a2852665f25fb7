# Detect digits in scenes, from the backbone that the quickstart pre-trained.
_base_ = [
    'mmdet::_base_/models/faster-rcnn_r50_fpn.py',
    'mmdet::_base_/default_runtime.py'
]

max_epochs = 6
batch_size = 8  # over two processes
data_root = 'data/digits/'
checkpoint = 'work_dirs/quickstart/classifier/epoch_3.pth'

model = dict(
    data_preprocessor=dict(mean=[127.5] * 3, std=[64.] * 3),
    backbone=dict(
        _delete_=True,
        type='mmstepnet.ResNet',
        depth=34,
        base_channels=32,
        step=dict(type='mmstepnet.StepNet'),
        init_cfg=dict(
            type='Pretrained', checkpoint=checkpoint, prefix='backbone.')),
    neck=dict(in_channels=[32, 64, 128, 256], out_channels=64, num_outs=4),
    rpn_head=dict(
        in_channels=64,
        feat_channels=64,
        anchor_generator=dict(scales=[5], ratios=[1., 1.6, 2.5], strides=[4, 8, 16, 32])),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=64, finest_scale=28),
        bbox_head=dict(
            in_channels=64,
            fc_out_channels=256,
            num_classes=10,
            loss_bbox=dict(loss_weight=1.0))),
    train_cfg=dict(
        rpn=dict(sampler=dict(num=128)),
        rpn_proposal=dict(nms_pre=200, max_per_img=100),
        rcnn=dict(sampler=dict(num=64))),
    test_cfg=dict(
        rpn=dict(nms_pre=200, max_per_img=100),
        rcnn=dict(max_per_img=50)))

classes = tuple('0123456789')
dataset = dict(
    type='CocoDataset',
    data_root=data_root,
    metainfo=dict(classes=classes))
train_dataloader = dict(
    batch_size=batch_size // 2,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    batch_sampler=dict(type='AspectRatioBatchSampler'),
    dataset=dict(
        **dataset,
        ann_file='annotations/train.json',
        data_prefix=dict(img='train/'),
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='LoadAnnotations', with_bbox=True),
            dict(type='PackDetInputs')
        ]))
val_dataloader = dict(
    batch_size=4,
    num_workers=0,
    drop_last=False,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        **dataset,
        test_mode=True,
        ann_file='annotations/val.json',
        data_prefix=dict(img='val/'),
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='LoadAnnotations', with_bbox=True),
            dict(
                type='PackDetInputs',
                meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape'))
        ]))
val_evaluator = dict(
    type='CocoMetric', ann_file=data_root + 'annotations/val.json', metric='bbox')
test_dataloader = val_dataloader
test_evaluator = val_evaluator

train_cfg = dict(
    type='EpochBasedTrainLoop', max_epochs=max_epochs, val_interval=1)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')

optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=1e-3, weight_decay=0.05),
    clip_grad=dict(max_norm=35))
param_scheduler = dict(
    type='OneCycleLR',
    eta_max=1e-3,
    total_steps=max_epochs,
    by_epoch=True,
    convert_to_iter_based=True)
default_hooks = dict(logger=dict(interval=20))
log_processor = dict(window_size=20)
