# Copyright (c) mmstepnet contributors. All rights reserved.
"""The COCO configs on real images, at a size that a CPU can train."""
import json

import numpy as np
import pytest
import torch
from repo_configs import STEPS, build, load

pytestmark = [pytest.mark.slow, pytest.mark.mmdet]

EMPTY, TINY, CROWD, CROWD_AND_TINY = 508, 542, 257, 159269
VAL_CROWD, VAL_CROWD_AND_TINY = 5001, 553664
SIZE = (128, 96)


def subset(scenes, image_ids):
    """The images of these ids, with their annotations."""
    return dict(
        images=[i for i in scenes['images'] if i['id'] in image_ids],
        annotations=[
            a for a in scenes['annotations'] if a['image_id'] in image_ids
        ],
        categories=scenes['categories'])


def joined(*scenes):
    return dict(
        images=sum((s['images'] for s in scenes), []),
        annotations=sum((s['annotations'] for s in scenes), []),
        categories=scenes[0]['categories'])


@pytest.fixture(scope='session')
def hard_images(test_data, tmp_path_factory):
    """A few images with crowds, tiny boxes or no box at all."""
    root = test_data / 'coco_mini'
    train = json.loads((root / 'train.json').read_text())
    val = json.loads((root / 'val.json').read_text())
    hard = dict(
        train=subset(train, {EMPTY, TINY, CROWD, CROWD_AND_TINY}),
        val=joined(
            subset(val, {VAL_CROWD, VAL_CROWD_AND_TINY}),
            subset(train, {EMPTY})))
    folder = tmp_path_factory.mktemp('coco_mini')
    for split, scenes in hard.items():
        (folder / f'{split}.json').write_text(json.dumps(scenes))
    return hard, folder, root / 'images'


def test_the_images_are_hard(hard_images):
    for scenes in hard_images[0].values():
        annotations = scenes['annotations']
        assert any(a['iscrowd'] for a in annotations)
        assert min(min(a['bbox'][2:]) for a in annotations) < 3
        filled = {a['image_id'] for a in annotations}
        assert {i['id'] for i in scenes['images']} - filled == {EMPTY}


def small(cfg, ann_files, images):
    """The config on other images, at a size that a CPU can train."""
    cfg.model.train_cfg.rpn_proposal.update(nms_pre=100, max_per_img=50)
    cfg.model.train_cfg.rcnn.sampler.num = 32
    cfg.model.test_cfg.rpn.update(nms_pre=50, max_per_img=20)
    for split in ('train', 'val', 'test'):
        dataloader = cfg[f'{split}_dataloader']
        dataloader.update(num_workers=0, persistent_workers=False)
        dataset = dataloader.dataset
        ann_file = str(ann_files /
                       f'{"val" if split == "test" else split}.json')
        dataset.update(
            data_root='',
            ann_file=ann_file,
            data_prefix=dict(img=f'{images}/'))
        for transform in dataset.pipeline:
            if transform.type == 'Resize':
                transform.scale = SIZE
        if split != 'train':
            cfg[f'{split}_evaluator'].ann_file = ann_file
    return cfg


@pytest.fixture(scope='session', params=[50, 101])
def pretrained(request, tmp_path_factory):
    """Depth and checkpoint of a plain backbone: random, but normalized."""
    cfg = load(
        f'faster_rcnn_r{request.param}_plain_coco.py', **{
            'model.backbone.init_cfg': None,
            'model.backbone.zero_init_residual': False,
            'model.backbone.frozen_stages': -1,
            'model.backbone.norm_eval': False
        })
    torch.manual_seed(0)
    backbone = build(cfg.model.backbone, 'mmdet', 'cpu').train()
    backbone.init_weights()
    for module in backbone.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None
    with torch.no_grad():
        backbone(torch.randn(4, 3, 64, 64))
    path = tmp_path_factory.mktemp('pretrained') / 'plain.pth'
    torch.save(backbone.state_dict(), path)
    return request.param, str(path)


@pytest.mark.parametrize('step', STEPS)
def test_trains_and_validates(hard_images, pretrained, step, tmp_path):
    from mmengine.runner import Runner
    _, ann_files, images = hard_images
    depth, checkpoint = pretrained
    cfg = small(
        load(f'faster_rcnn_r{depth}_{step}_coco.py'), ann_files, images)
    cfg.model.backbone.init_cfg.checkpoint = checkpoint
    cfg.model.test_cfg.rcnn.score_thr = -1
    cfg.train_dataloader.dataset.filter_cfg = None
    cfg.train_cfg.max_epochs = 1
    cfg.default_hooks.logger.interval = 1
    cfg.default_hooks.checkpoint.update(interval=-1, save_last=False)
    cfg.randomness = dict(seed=0)
    cfg.experiment_name = tmp_path.name
    cfg.work_dir = str(tmp_path)
    runner = Runner.from_cfg(cfg)
    plain = torch.load(checkpoint, weights_only=True)
    runner.train()

    hub = runner.message_hub
    assert runner.iter >= 2
    for name in ('loss', 'loss_rpn_cls', 'loss_rpn_bbox', 'loss_cls',
                 'loss_bbox'):
        values, _ = hub.get_scalar(f'train/{name}').data
        assert len(values) == runner.iter
        assert np.isfinite(values).all()
    trained = runner.model.backbone.state_dict()
    assert all(value.isfinite().all() for value in trained.values())
    moved = {key for key in plain if not trained[key].equal(plain[key])}
    assert {key.split('.')[0] for key in moved} == \
        {'layer2', 'layer3', 'layer4'}
    assert not any('running' in key for key in moved)
    assert hub.get_scalar('val/coco/bbox_mAP').current() >= 0
    assert hub.get_scalar('val/tns/total').current() > 0
    assert len((tmp_path / 'tns.jsonl').read_text().splitlines()) == 1


def measure(rank, world_size, root, work_dir):
    """Metrics of a validation run over the 39 images."""
    from mmengine.runner import Runner
    cfg = load(
        'faster_rcnn_r50_stepnet_coco.py', **{
            'randomness.seed': 0,
            'experiment_name': f'{world_size}_processes',
            'work_dir': work_dir
        })
    cfg = small(cfg, root, root / 'images')
    cfg.model.backbone.update(init_cfg=None, zero_init_residual=False)
    runner = Runner.from_cfg(cfg)
    runner.model.init_weights()
    return dict(runner.val())


@pytest.mark.ddp
def test_stiffness_on_two_processes(test_data, gloo_pool, tmp_path):
    args = test_data / 'coco_mini', str(tmp_path)
    alone = measure(0, 1, *args)
    alone_file, = (tmp_path / 'tns.jsonl').read_text().splitlines()
    assert json.loads(alone_file)['total']['num_samples'] == 39
    names = [name for name in alone if name.startswith(('tns/', 'nsi/'))]
    assert alone['tns/total'] > 0 and len(names) > 12
    for shared in gloo_pool.run(measure, *args):
        for name in names:
            assert shared[name] == pytest.approx(alone[name], rel=1e-6), name
