# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from mmengine.config import Config

from mmstepnet.engine.class_names import check_classes


def config(root, classes, **dataset):
    return Config(
        dict(
            train_dataloader=dict(
                dataset=dict(
                    type='mmpretrain.CustomDataset',
                    data_root=str(root),
                    data_prefix='train',
                    metainfo=dict(classes=classes),
                    **dataset))))


@pytest.fixture
def root(tmp_path):
    for name in ('platelet', 'red cell', 'white cell'):
        (tmp_path / 'train' / name).mkdir(parents=True)
    (tmp_path / 'train' / 'notes.txt').touch()
    return tmp_path


@pytest.mark.parametrize('classes', [
    ('white cell', 'red cell', 'platelet'),
    ('Platelet', 'white cell', 'red cell'),
])
def test_folders_in_another_order(root, classes):
    with pytest.raises(
            ValueError,
            match=r"order of the folders of .*train', \['platelet', 'red"):
        check_classes(config(root, classes), ['train'])
    check_classes(config(root, classes, ann_file='names.txt'), ['train'])


def test_another_number_of_folders(root):
    with pytest.raises(
            ValueError, match=r"the 3 folders of .*train.* got 2 names, \['a"):
        check_classes(config(root, ('a', 'b')), ['train'])


@pytest.mark.parametrize('classes', [
    ('platelet', 'red cell', 'white cell'),
    ('Thrombocyte', 'Erythrocyte', 'Leucocyte'),
])
def test_classes_may_be_named_anew(root, classes):
    check_classes(config(root, classes), ['train'])


def test_another_number(root):
    cfg = config(root, ('cat', ))
    cfg.model = dict(head=dict(num_classes=2))
    with pytest.raises(ValueError, match='model.head.num_classes is 2, but'):
        check_classes(cfg, ['train'])
