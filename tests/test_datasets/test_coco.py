# Copyright (c) mmstepnet contributors. All rights reserved.
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

pytestmark = pytest.mark.mmdet

CATEGORIES = ('RBC', 'WBC', 'Platelets')


@pytest.fixture
def ann_file(tmp_path):
    path = tmp_path / 'train.json'
    for name in ('1.jpg', '2.jpg'):
        cv2.imwrite(str(tmp_path / name), np.zeros((64, 64, 3), np.uint8))
    path.write_text(
        json.dumps(
            dict(
                images=[
                    dict(id=1, file_name='1.jpg', width=64, height=64),
                    dict(id=2, file_name='2.jpg', width=64, height=64)
                ],
                annotations=[
                    dict(
                        id=i,
                        image_id=1,
                        category_id=10 * i,
                        bbox=[4 * i, 4, 8, 8],
                        area=64,
                        iscrowd=0) for i in (1, 2, 3)
                ],
                categories=[
                    dict(id=10 * i, name=name)
                    for i, name in enumerate(CATEGORIES, 1)
                ])))
    return str(path)


def build(ann_file, classes, **change):
    from mmstepnet.registry import DATASETS
    return DATASETS.build(
        dict(
            dict(
                type='mmstepnet.StrictCocoDataset',
                ann_file=ann_file,
                data_prefix=dict(img=str(Path(ann_file).parent)),
                filter_cfg=dict(filter_empty_gt=True),
                metainfo=dict(classes=classes),
                serialize_data=False), **change))


@pytest.mark.parametrize('classes, labels', [(CATEGORIES, [0, 1, 2]),
                                             (('WBC', ), [0]),
                                             (['RBC', 'Platelets'], [0, 1])])
def test_labels_number_the_classes(ann_file, classes, labels):
    dataset = build(ann_file, classes)
    assert len(dataset) == 1
    instances = dataset.get_data_info(0)['instances']
    assert [instance['bbox_label'] for instance in instances] == labels
    boxes = [4 * (CATEGORIES.index(name) + 1) for name in classes]
    assert [instance['bbox'][0] for instance in instances] == boxes


@pytest.mark.parametrize('classes', ['WBC', None, 3])
def test_classes_that_are_no_tuple(ann_file, classes):
    with pytest.raises(TypeError, match=r"\('cell', \) for a single class"):
        build(ann_file, classes)


@pytest.mark.parametrize('classes', [('RBC', 'cat'), ('rbc', ), (),
                                     ('WBC', 'RBC'), ('RBC', 'RBC')])
def test_classes_that_are_not_those_of_the_file(ann_file, classes):
    with pytest.raises(ValueError) as error:
        build(ann_file, classes)
    message = str(error.value)
    assert ann_file in message
    assert f'expected {list(CATEGORIES)}' in message
    assert f'got {list(classes)}' in message


@pytest.mark.parametrize('filter_cfg', [None, dict(filter_empty_gt=True)])
def test_boxes_that_are_not_in_pixels(ann_file, filter_cfg):
    content = json.loads(Path(ann_file).read_text())
    for annotation in content['annotations'][1:]:
        annotation['bbox'] = [0.1, 0.1, 0.5, 0.9]
    Path(ann_file).write_text(json.dumps(content))
    build(ann_file, CATEGORIES, filter_cfg=filter_cfg)
    build(ann_file, ('WBC', ), filter_cfg=filter_cfg, test_mode=True)
    with pytest.raises(ValueError, match='WBC.*left out.*in pixels, not'):
        build(ann_file, ('WBC', ), filter_cfg=filter_cfg)


def test_the_annotation_id_0_is_refused_where_detections_are_evaluated(
        ann_file):
    content = json.loads(Path(ann_file).read_text())
    content['annotations'][1]['id'] = 0
    Path(ann_file).write_text(json.dumps(content))
    assert len(build(ann_file, CATEGORIES)) == 1
    with pytest.raises(
            ValueError, match=r'annotations\[1\] must have an id from 1 on'):
        build(ann_file, CATEGORIES, test_mode=True)


def test_default_classes_are_checked_too(ann_file):
    from mmstepnet.datasets import StrictCocoDataset
    with pytest.raises(ValueError, match="'person'"):
        StrictCocoDataset(ann_file=ann_file, data_prefix=dict(img='images/'))
