# Copyright (c) mmstepnet contributors. All rights reserved.
"""A user's copy of the config for a data set of one's own."""
import json
import re
import subprocess
import sys

import pytest
from mmengine.config import Config
from repo_configs import CONFIGS, REPO, load

pytestmark = pytest.mark.mmdet

TEMPLATE = CONFIGS / 'faster_rcnn_r50_stepnet_custom.py'


@pytest.fixture
def edit(tmp_path):
    """Copy the config, with other values for the variables at its top."""

    def write(**values):
        text = TEMPLATE.read_text().replace("'./", f"'{CONFIGS}/")
        for name, value in values.items():
            text, count = re.subn(
                f'^{name} = .*$',
                lambda _: f'{name} = {value!r}',
                text,
                flags=re.M)
            assert count == 1
        path = tmp_path / 'mine.py'
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize('classes', [('cell', ), ('a', 'b', 'c')])
def test_classes_are_named_in_one_place(edit, classes):
    cfg = Config.fromfile(edit(classes=classes, data_root='my/data/'))
    assert cfg.model.roi_head.bbox_head.num_classes == len(classes)
    for split in ('train', 'val', 'test'):
        dataset = cfg[f'{split}_dataloader'].dataset
        assert dataset.type == 'mmstepnet.StrictCocoDataset'
        assert dataset.metainfo.classes == classes
        assert dataset.data_root == 'my/data/'
    for evaluator in (cfg.val_evaluator, cfg.test_evaluator):
        assert evaluator.ann_file == 'my/data/annotations/val.json'


def test_the_rest_is_the_coco_setting():
    custom = load(TEMPLATE.name)
    coco = load('faster_rcnn_r50_stepnet_coco.py')
    for key in ('optim_wrapper', 'param_scheduler', 'train_cfg',
                'custom_hooks', 'auto_scale_lr'):
        assert custom[key] == coco[key]
    assert custom.model.backbone == coco.model.backbone
    assert custom.train_dataloader.dataset.pipeline == \
        coco.train_dataloader.dataset.pipeline


@pytest.fixture
def white_cells(test_data, tmp_path):
    """Annotation file of four photos of blood, with all their categories."""
    root = test_data / 'bccd'
    scenes = json.loads((root / 'train.json').read_text())
    images = scenes['images'][:4]
    ids = {image['id'] for image in images}
    ann_file = tmp_path / 'four.json'
    ann_file.write_text(
        json.dumps(
            dict(
                images=images,
                annotations=[
                    a for a in scenes['annotations'] if a['image_id'] in ids
                ],
                categories=scenes['categories'])))
    return dict(
        data_root='',
        train_ann=str(ann_file),
        val_ann=str(ann_file),
        train_img=f'{root}/images/',
        val_img=f'{root}/images/')


@pytest.mark.slow
def test_one_class_trains_and_validates(edit, white_cells, tmp_path):
    from mmengine.runner import Runner
    cfg = Config.fromfile(edit(classes=('WBC', ), **white_cells))
    cfg.model.backbone.update(depth=18, init_cfg=None)
    cfg.model.neck.in_channels = [64, 128, 256, 512]
    cfg.model.test_cfg.rcnn.score_thr = -1
    cfg.train_cfg.max_epochs = 1
    cfg.default_hooks.checkpoint.update(interval=-1, save_last=False)
    for dataloader in (cfg.train_dataloader, cfg.val_dataloader):
        dataloader.update(num_workers=0, persistent_workers=False)
        for transform in dataloader.dataset.pipeline:
            if transform.type == 'Resize':
                transform.scale = (128, 96)
    cfg.work_dir = str(tmp_path)
    runner = Runner.from_cfg(cfg)
    runner.train()
    assert runner.iter == 2
    assert runner.train_dataloader.dataset.metainfo['classes'] == ('WBC', )
    losses, _ = runner.message_hub.get_scalar('train/loss').data
    assert all(0 < loss < 1e3 for loss in losses)
    assert runner.message_hub.get_scalar('val/coco/bbox_mAP').current() >= 0


@pytest.mark.slow
def test_classes_as_a_string_get_one_sentence(edit, white_cells, tmp_path):
    run = subprocess.run([
        sys.executable, REPO / 'tools' / 'train.py',
        edit(classes='WBC', **white_cells), '--cfg-options',
        'model.backbone.init_cfg=None'
    ],
                         cwd=tmp_path,
                         env=dict(
                             PYTHONPATH=str(REPO), CUDA_VISIBLE_DEVICES='-1'),
                         capture_output=True,
                         text=True)
    assert run.returncode != 0
    assert 'Traceback' not in run.stderr
    last = run.stderr.strip().splitlines()[-1]
    assert re.match("error: .*classes must be a tuple.*got 'WBC'", last)
