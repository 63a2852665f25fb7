# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse

import pytest
from mmengine.config import Config

from mmstepnet.engine import (check_checkpoint, check_data, check_device,
                              check_pretrained, set_dataloader_defaults)
from mmstepnet.engine.checks import check_settings


@pytest.fixture
def config(tmp_path):
    (tmp_path / 'images').mkdir()
    (tmp_path / 'boxes.json').touch()
    dataset = dict(
        type='CocoDataset',
        data_root=f'{tmp_path}/',
        ann_file='boxes.json',
        data_prefix=dict(img='images/', seg=''))
    return Config(
        dict(
            train_dataloader=dict(
                dataset=dict(
                    type='RepeatDataset',
                    dataset=dict(
                        type='ConcatDataset', datasets=[dict(dataset)]))),
            val_dataloader=dict(dataset=dict(dataset)),
            val_evaluator=[
                dict(type='CocoMetric', ann_file=f'{tmp_path}/boxes.json')
            ],
            test_dataloader=None,
            test_evaluator=None))


def test_complete_data(config):
    check_data(config, ['train', 'val', 'test'])


@pytest.mark.parametrize('key, path', [
    ('val_dataloader.dataset.data_root', '/nowhere'),
    ('val_dataloader.dataset.ann_file', 'none.json'),
    ('val_dataloader.dataset.data_prefix.img', 'none/'),
    ('val_evaluator.0.ann_file', 'none.json'),
    ('train_dataloader.dataset.dataset.datasets.0.ann_file', 'none.json'),
])
def test_missing_data_is_named_with_its_key(config, key, path):
    config.merge_from_dict({key: path})
    dotted = key.replace('datasets.0', 'datasets[0]').replace('.0', '')
    with pytest.raises(FileNotFoundError) as error:
        check_data(config, ['train', 'val'])
    assert str(error.value).startswith(f'{dotted} of the config')
    assert path in str(error.value)


def test_only_the_splits_of_the_run_are_checked(config):
    config.val_dataloader.dataset.ann_file = 'none.json'
    check_data(config, ['train'])


def test_a_prefix_may_be_a_string(config):
    config.val_dataloader.dataset.data_prefix = 'none'
    with pytest.raises(FileNotFoundError, match='dataset.data_prefix of'):
        check_data(config, ['val'])


@pytest.mark.parametrize('change', [
    dict(backend_args=dict(backend='petrel')),
    dict(data_root='s3://bucket/'),
    dict(type='mmpretrain.CIFAR10'),
])
def test_data_from_elsewhere_is_not_looked_for(config, change):
    config.val_dataloader.dataset.update(
        ann_file='', data_prefix='data/none', **change)
    if 'data_root' in change:
        config.val_dataloader.dataset.data_prefix = ''
    check_data(config, ['val'])


def test_data_that_must_not_be_downloaded_is_looked_for(config):
    config.val_dataloader.dataset.update(type='CIFAR10', download=False)
    config.val_dataloader.dataset.data_root = 'data/none'
    with pytest.raises(FileNotFoundError, match='data/none'):
        check_data(config, ['val'])


def test_checkpoints(tmp_path):
    path = tmp_path / 'weights.pth'
    with pytest.raises(FileNotFoundError, match='load_from.*weights.pth'):
        check_checkpoint(str(path), 'load_from')
    path.write_text('version https://git-lfs')
    with pytest.raises(ValueError, match="no PyTorch checkpoint.*b've'"):
        check_checkpoint(str(path), 'load_from')
    path.write_bytes(b'PK\x03\x04')
    check_checkpoint(str(path), 'load_from')
    check_checkpoint('torchvision://resnet50', 'load_from')
    check_checkpoint(None, 'load_from')


def test_pretrained_parts():
    start = dict(type='Pretrained', checkpoint='none.pth')
    model = dict(backbone=dict(init_cfg=start), neck=[dict(init_cfg=[])])
    with pytest.raises(
            FileNotFoundError, match='^model.backbone.init_cfg.checkpoint'):
        check_pretrained(Config(dict(model=model)))
    model = dict(backbone=dict(depth=50), neck=[dict(init_cfg=[start])])
    with pytest.raises(
            FileNotFoundError, match=r'^model.neck\[0\].init_cfg\[0\]'):
        check_pretrained(Config(dict(model=model)))
    start['checkpoint'] = 'torchvision://resnet50'
    check_pretrained(Config(dict(model=model)))


@pytest.mark.parametrize('std', [[0, 0, 0], (1., -1., 1.), [float('nan')]])
@pytest.mark.parametrize('of_model', [False, True])
def test_images_are_not_divided_by_zero(config, std, of_model):
    preprocessor = dict(data_preprocessor=dict(mean=[0], std=std))
    config.merge_from_dict(
        dict(val_cfg=dict(), model=preprocessor) if of_model else dict(
            val_cfg=dict(), model=dict(), **preprocessor))
    key = 'model.data_preprocessor' if of_model else 'data_preprocessor'
    with pytest.raises(ValueError, match=rf'^{key}\.std must be positive'):
        check_settings(config, ['val'])


@pytest.mark.parametrize('key, value, sentence', [
    ('val_dataloader.num_workers', -1, 'a non-negative integer, got -1'),
    ('val_dataloader.num_workers', 'two', "a non-negative integer, got 'two'"),
    ('optim_wrapper.optimizer.lr', -1, 'a non-negative number, got -1'),
    ('optim_wrapper.optimizer.lr', '1e-3', "non-negative number, got '1e-3'"),
])
def test_numbers_out_of_range(config, key, value, sentence):
    config.merge_from_dict(
        dict(val_cfg=dict(), model=dict(), default_scope='mmpretrain'))
    config.merge_from_dict({key: value})
    args = argparse.Namespace(no_pin_memory=False)
    set_dataloader_defaults(config, args, ['val'])
    with pytest.raises((TypeError, ValueError), match=f'^{key} .*{sentence}'):
        check_settings(config, ['val'])
    config.merge_from_dict({key: 0})
    check_settings(config, ['val'])


@pytest.mark.parametrize('name', ['cuda:99', 'gpu'])
def test_devices_that_are_not_there(name):
    check_device('cpu')
    with pytest.raises(
            ValueError, match=rf"^--device must .* \d+ GPUs .*, got '{name}'"):
        check_device(name)


@pytest.mark.parametrize('preprocessor', [
    None,
    dict(type='DetDataPreprocessor'),
    dict(mean=[0.], std=[1, .5]),
    dict(mean=None, std=None)
])
def test_other_preprocessors_are_let_through(config, preprocessor):
    config.merge_from_dict(
        dict(
            val_cfg=dict(),
            model=dict(data_preprocessor=preprocessor),
            data_preprocessor=preprocessor))
    check_settings(config, ['val'])
