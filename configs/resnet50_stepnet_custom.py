# Copyright (c) mmstepnet contributors. All rights reserved.
# ResNet-50 with StepNet on images of your own, in a folder for each class: copy
# this file and edit the lines down to `classes`.
_base_ = './imagenet/resnet50_stepnet_8xb32_in1k.py'

train_root = 'data/custom/train'
val_root = 'data/custom/val'

# Names of the classes, in the order of the names of their folders.
classes = ('cat', 'dog')

model = dict(head=dict(num_classes=len(classes), topk=(1, )))
data_preprocessor = dict(num_classes=len(classes))

dataset = dict(
    _delete_=True, type='CustomDataset', metainfo=dict(classes=classes))
train_dataloader = dict(
    dataset=dict(
        **dataset, data_root=train_root, pipeline={{_base_.train_pipeline}}))
val_dataloader = dict(
    dataset=dict(
        **dataset, data_root=val_root, pipeline={{_base_.test_pipeline}}))
test_dataloader = val_dataloader

val_evaluator = dict(topk=(1, ))
test_evaluator = val_evaluator
