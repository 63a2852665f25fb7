# Copyright (c) mmstepnet contributors. All rights reserved.
# Faster R-CNN R50 with StepNet on a dataset of your own in COCO format: copy
# this file and edit the lines down to `classes`; data_root ends with a slash.
_base_ = './faster_rcnn_r50_stepnet_coco.py'

data_root = 'data/custom/'
train_ann = 'annotations/train.json'
train_img = 'train/'
val_ann = 'annotations/val.json'
val_img = 'val/'

# Names of the categories as in the annotation files and in their order; some
# may be left out. A single class needs its comma: ('cell', ).
classes = ('cat', 'dog')

model = dict(roi_head=dict(bbox_head=dict(num_classes=len(classes))))

dataset = dict(
    type='mmstepnet.StrictCocoDataset',
    data_root=data_root,
    metainfo=dict(classes=classes))
train_dataloader = dict(
    dataset=dict(
        **dataset, ann_file=train_ann, data_prefix=dict(img=train_img)))
val_dataloader = dict(
    dataset=dict(**dataset, ann_file=val_ann, data_prefix=dict(img=val_img)))
test_dataloader = val_dataloader

val_evaluator = dict(ann_file=data_root + val_ann)
test_evaluator = val_evaluator
