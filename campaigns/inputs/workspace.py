# Copyright (c) mmstepnet contributors. All rights reserved.
"""A folder with small data, configs and checkpoints that are right."""
import json
from pathlib import Path
from typing import Any, Dict

import cv2
import numpy as np
import torch

SIZE = 64
BOX = (8, 16, 30, 24)  # x, y, width, height of what is white
DETECTOR = '''
_base_ = 'mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py'
model = dict(
    backbone=dict(type='mmstepnet.ResNet', depth=18, base_channels=8,
                  step=dict(type='mmstepnet.StepNet'), frozen_stages=-1,
                  norm_eval=False, init_cfg=None),
    neck=dict(in_channels=[8, 16, 32, 64], out_channels=8),
    rpn_head=dict(in_channels=8, feat_channels=8),
    roi_head=dict(bbox_roi_extractor=dict(out_channels=8),
                  bbox_head=dict(in_channels=8, fc_out_channels=16,
                                 num_classes=2)))
classes = ('square', 'bar')
load = [dict(type='LoadImageFromFile'),
        dict(type='LoadAnnotations', with_bbox=True)]
pack = [dict(type='Resize', scale=(64, 64), keep_ratio=True),
        dict(type='PackDetInputs', meta_keys=(
            'img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor'))]
dataset = dict(type='mmstepnet.StrictCocoDataset', data_root='data/',
               ann_file='scenes.json', data_prefix=dict(img='images/'),
               metainfo=dict(classes=classes), pipeline=load + pack)
loader = dict(num_workers=0, persistent_workers=False)
train_dataloader = dict(batch_size=2, **loader, dataset=dataset)
val_dataloader = dict(**loader, dataset=dataset)
test_dataloader = val_dataloader
val_evaluator = dict(ann_file='data/scenes.json')
test_evaluator = val_evaluator
train_cfg = dict(max_epochs=1)
default_hooks = dict(logger=dict(interval=1))
'''
CLASSIFIER = '''
_base_ = 'mmpretrain::resnet/resnet18_8xb32_in1k.py'
model = dict(
    backbone=dict(type='mmstepnet.ResNet', depth=18, base_channels=8,
                  stem_channels=8, step=dict(type='mmstepnet.StepNet')),
    head=dict(in_channels=64, num_classes=2, topk=(1, )))
pipeline = [dict(type='LoadImageFromFile'), dict(type='Resize', scale=64),
            dict(type='PackInputs')]
dataset = dict(_delete_=True, type='CustomDataset', data_root='data/classes',
               pipeline=pipeline)
train_dataloader = dict(batch_size=2, num_workers=0, dataset=dataset)
val_dataloader = dict(batch_size=2, num_workers=0, dataset=dataset)
test_dataloader = val_dataloader
val_evaluator = dict(topk=(1, ))
test_evaluator = val_evaluator
train_cfg = dict(max_epochs=1)
'''


def picture(seed: int = 0) -> np.ndarray:
    """A dark picture with a white box, (64, 64, 3) uint8."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 60, (SIZE, SIZE, 3), dtype=np.uint8)
    x, y, width, height = BOX
    image[y:y + height, x:x + width] = 255
    return image


def scenes(number: int = 4) -> Dict[str, Any]:
    """Annotations of so many pictures with a box each."""
    return dict(
        images=[
            dict(id=i, file_name=f'{i}.png', width=SIZE, height=SIZE)
            for i in range(number)
        ],
        annotations=[
            dict(
                id=i + 1,
                image_id=i,
                category_id=1 + i % 2,
                bbox=list(BOX),
                area=BOX[2] * BOX[3],
                iscrowd=0) for i in range(number)
        ],
        categories=[dict(id=1, name='square'),
                    dict(id=2, name='bar')])


def write_workspace(root: Path, number: int = 4) -> None:
    """Write data and configs."""
    for folder in ('images', 'classes/a', 'classes/b'):
        (root / 'data' / folder).mkdir(parents=True)
    for i in range(number):
        cv2.imwrite(str(root / f'data/images/{i}.png'), picture(i))
        cv2.imwrite(
            str(root / f'data/classes/{"ab"[i % 2]}/{i}.png'), picture(i))
    (root / 'data/scenes.json').write_text(json.dumps(scenes(number)))
    (root / 'detector.py').write_text(DETECTOR)
    (root / 'classifier.py').write_text(CLASSIFIER)


def write_checkpoints(root: Path) -> None:
    """Write weights of both models."""
    from mmengine.config import Config

    from mmstepnet.checkpoints import load_model
    for name in ('detector', 'classifier'):
        torch.manual_seed(0)
        model = load_model(Config.fromfile(str(root / f'{name}.py')))
        torch.save(
            dict(meta={}, state_dict=model.state_dict()), root / f'{name}.pth')
