# Copyright (c) mmstepnet contributors. All rights reserved.
"""Annotation files of a detector's dataset."""
import json
from pathlib import Path
from typing import Any, Callable, Iterator

from .harness import Case, call
from .workspace import SIZE, scenes


def build(ann_file: str, classes=('square', 'bar'), **options: Any) -> Any:
    """The dataset, with a pipeline that keeps sizes."""
    from mmengine.registry import init_default_scope

    from mmstepnet.registry import DATASETS
    init_default_scope('mmdet')
    pipeline = [
        dict(type='LoadImageFromFile'),
        dict(type='LoadAnnotations', with_bbox=True),
        dict(type='Resize', scale=(2 * SIZE, 2 * SIZE), keep_ratio=True),
        dict(type='PackDetInputs')
    ]
    return DATASETS.build(
        dict(
            type='mmstepnet.StrictCocoDataset',
            data_root='data/',
            ann_file=ann_file,
            data_prefix=dict(img='images/'),
            metainfo=dict(classes=classes),
            pipeline=pipeline,
            filter_cfg=dict(filter_empty_gt=False, min_size=0),
            **options))


def annotated(change: Callable[[dict], Any], **options: Any):
    """A dataset whose annotation file was changed or replaced."""

    def make() -> None:
        content = scenes()
        replaced = change(content)
        data = content if replaced is None else replaced
        text = data if isinstance(data, bytes) else json.dumps(data).encode()
        Path('data/changed.json').write_bytes(text)
        dataset = build('changed.json', **options)
        if options.get('skip_broken'):
            left = [
                len(dataset[i]['data_samples'].gt_instances)
                for i in range(len(dataset))
            ]
            print(f'{len(left)} images with {sum(left)} boxes are left')

    return call(make)


def entry(kind: str, index: int, **values: Any) -> Callable[[dict], None]:
    """Set values of an entry, or remove those that are given as Ellipsis."""

    def change(content: dict) -> None:
        for key, value in values.items():
            if value is ...:
                del content[kind][index][key]
            else:
                content[kind][index][key] = value

    return change


NAN = float('nan')
ENTRIES = (
    *((f'image without {key}', entry(
        'images', 1, **{key: ...}), 'images[1]', f'the key {key!r}')
      for key in ('id', 'file_name', 'width', 'height')),
    *((f'annotation without {key}', entry(
        'annotations', 1, **{key: ...}), 'annotations[1]', f'the key {key!r}')
      for key in ('id', 'image_id', 'category_id', 'bbox', 'area')),
    *((f'box {box}', entry('annotations', 2, bbox=box), 'annotations[2]',
       'must have a bbox', words)
      for box, words in (([1, 2, 3], 'four finite numbers'),
                         ('1 2 3 4', 'four finite numbers'),
                         ([1, 2, NAN, 4], 'four finite numbers'),
                         ([1, 2, float('inf'), 4], 'four finite numbers'),
                         ([1, 2, None, 4], 'four finite numbers'),
                         ([5, 5, 0, 4], 'positive width'),
                         ([5, 5, 4, -4], 'positive width'),
                         ([70, 5, 4, 4], 'in its image of 64x64'),
                         ([5, -20, 4, 10], 'in its image of 64x64'))),
    ('area of zero', entry('annotations', 0,
                           area=0), 'positive area', 'got 0'),
    ('area NaN', entry('annotations', 0, area=NAN), 'positive area', 'nan'),
    ('annotation id again', entry('annotations', 3, id=1), 'annotations[3]',
     'an id of its own', 'got 1'),
    ('image id again', entry('images', 3,
                             id=0), 'images[3]', 'an id of its own', 'got 0'),
    ('unknown image', entry('annotations', 0,
                            image_id=99), 'image_id', 'got 99'),
    ('unknown category', entry('annotations', 0,
                               category_id=9), 'category_id', 'got 9'),
    ('list as id', entry('images', 0,
                         id=[1]), 'a number for its id', 'got [1]'),
    ('width of zero', entry('images', 0,
                            width=0), 'a positive width', 'got 0'),
    ('height as text', entry('images', 0,
                             height='64'), 'positive height', "got '64'"),
    ('number as file name', entry('images', 0,
                                  file_name=3), 'file_name', 'got 3'),
    ('annotation that is text', lambda c: c['annotations'].append('box'),
     'annotations[4]', 'must be a dict', "got 'box'"),
)
WHOLE = (
    ('a list', lambda c: [c], 'a dict', 'got a list'),
    ('a number', lambda c: b'3', 'a dict', 'got a int'),
    ('empty file', lambda c: b'', 'COCO format', 'line 1'),
    ('truncated', lambda c: json.dumps(c).encode()[:300], 'COCO format',
     'line 1'),
    ('no JSON', lambda c: b'<html>404</html>', 'COCO format'),
    ('no text', lambda c: b'\xff\xfe\x00', 'COCO format'),
    *((f'no {key}', lambda c, key=key: c.pop(key) and None, f'{key!r}',
       'got none') for key in ('images', 'annotations', 'categories')),
    ('images as a dict', lambda c: c.update(images={}), "'images'", 'a list'),
    ('category without a name', entry('categories', 1, name=...),
     'categories[1]', "the key 'name'"),
    ('category id again', entry('categories', 1,
                                id=1), 'categories[1]', 'another id'),
    ('category name again', entry('categories', 1,
                                  name='square'), 'another name', "'square'"),
    ('no image at all', lambda c: c.update(images=[], annotations=[]),
     'none of the 0 images'),
)
CLASSES = ((('square', ), None), (('bar', 'square'), "got ['bar', 'square']"),
           (('square', 'ring'), "got ['square', 'ring']"), ('square',
                                                            "got 'square'"),
           ((), 'got []'), (('Square', 'bar'), "got ['Square', 'bar']"))


def cases() -> Iterator[Case]:
    for name, change, *words in ENTRIES:
        yield Case('coco', name, annotated(change),
                   ('data/changed.json', *words, 'skip_broken=True'))
        yield Case('coco', f'{name}, skipped',
                   annotated(change, skip_broken=True),
                   ('skipped 1 x', 'boxes are left'), 'skipped')
    for name, change, *words in WHOLE:
        yield Case('coco', name, annotated(change),
                   ('data/changed.json', *words))
    for classes, words in CLASSES:
        yield Case('coco', f'classes={classes}',
                   annotated(lambda c: None, classes=classes),
                   (words, ) if words else (), 'refused' if words else 'works')
    yield Case('coco', 'no iscrowd for an evaluation',
               annotated(entry('annotations', 1, iscrowd=...), test_mode=True),
               ('annotations[1]', "'iscrowd'"))
    yield Case('coco', 'skip_broken for an evaluation',
               annotated(lambda c: None, test_mode=True, skip_broken=True),
               ('skip_broken is for training', 'data/changed.json'))
