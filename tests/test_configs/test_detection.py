# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from repo_configs import STEPS, build, count, load, without_scopes

pytestmark = pytest.mark.mmdet

#: Parameters that a step adds to a backbone. In ResNet-101 22 instead of 5
#: blocks of the third stage keep their shape.
ADDED = {
    50:
    dict(plain=0, se=2_530_992, eca=86, sge=2_048, stepnet=67_584),
    101:
    dict(
        plain=0,
        se=2_530_992 + 17 * (2 * 1024 * 64 + 64 + 1024),
        eca=86 + 17 * 5,
        sge=2_048 + 17 * 128,
        stepnet=67_584 + 17 * 6 * 1024)
}
PLAIN = {50: 25_557_032 - 2_049_000, 101: 44_549_160 - 2_049_000}

both_depths = pytest.mark.parametrize('depth', [50, 101])
all_steps = pytest.mark.parametrize('step', STEPS)


@both_depths
@all_steps
def test_only_the_backbone_differs_from_the_stock_config(depth, step):
    ours = without_scopes(load(f'faster_rcnn_r{depth}_{step}_coco.py'))
    stock = without_scopes(
        load(f'mmdet::faster_rcnn/faster-rcnn_r{depth}_fpn_1x_coco.py'))
    backbone = ours['model']['backbone']
    assert backbone.pop('type') == 'mmstepnet.ResNet'
    kind = backbone.pop('step', None)
    assert kind == (STEPS[step] and dict(type=f'mmstepnet.{STEPS[step]}'))
    assert stock['model']['backbone'].pop('type') == 'ResNet'
    assert ours.pop('custom_hooks') == [dict(type='mmstepnet.TNSHook')]
    assert ours.pop('custom_imports') == dict(imports=['mmstepnet'])
    assert ours == stock


def test_the_stock_setting_is_the_one_meant():
    cfg = load('faster_rcnn_r50_stepnet_coco.py')
    assert cfg.train_cfg.max_epochs == 12
    warmup, decay = cfg.param_scheduler
    assert (warmup.start_factor, warmup.end) == (0.001, 500)
    assert (decay.milestones, decay.gamma) == ([8, 11], 0.1)
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr) == ('SGD', 0.02)
    assert (optimizer.momentum, optimizer.weight_decay) == (0.9, 1e-4)
    assert cfg.train_dataloader.batch_size == 2
    assert cfg.auto_scale_lr.base_batch_size == 16
    for dataloader in (cfg.train_dataloader, cfg.val_dataloader):
        scales = [
            transform.scale for transform in dataloader.dataset.pipeline
            if transform.type == 'Resize'
        ]
        assert scales == [(1333, 800)]


@both_depths
@all_steps
def test_backbone(depth, step):
    cfg = load(f'faster_rcnn_r{depth}_{step}_coco.py')
    backbone = build(cfg.model.backbone, 'mmdet')
    assert count(backbone) == PLAIN[depth] + ADDED[depth][step]
    assert backbone.frozen_stages == 1 and backbone.norm_eval
    assert backbone.init_cfg == dict(
        type='Pretrained', checkpoint=f'torchvision://resnet{depth}')
    trainable = {
        name.split('.')[0]
        for name, p in backbone.named_parameters()
        if p.requires_grad and '.step.' not in name
    }
    assert trainable == {'layer2', 'layer3', 'layer4'}
    assert all(p.requires_grad for block in backbone.blocks()
               for p in block.step.parameters())


@pytest.mark.parametrize('prefix', [None, 'backbone.'])
def test_checkpoint_is_named_by_an_option(tmp_path, prefix):
    checkpoint = str(tmp_path / 'weights.pth')
    options = {
        'model.backbone.depth': 18,
        'model.backbone.init_cfg.checkpoint': checkpoint
    }
    if prefix:
        options['model.backbone.init_cfg.prefix'] = prefix
    cfg = load('faster_rcnn_r50_stepnet_coco.py', **options).model.backbone
    plain = {
        name: torch.rand_like(value) if value.is_floating_point() else value
        for name, value in build(cfg, 'mmdet', 'cpu').state_dict().items()
        if '.step.' not in name
    }
    torch.save({
        (prefix or '') + name: value
        for name, value in plain.items()
    }, checkpoint)
    backbone = build(cfg, 'mmdet', 'cpu')
    backbone.init_weights()
    loaded = backbone.state_dict()
    assert all(torch.equal(loaded[name], plain[name]) for name in plain)


def test_trained_steps_are_frozen_by_an_option():
    cfg = load('faster_rcnn_r50_stepnet_coco.py',
               **{'model.backbone.freeze_steps': True})
    backbone = build(cfg.model.backbone, 'mmdet')
    assert not any(p.requires_grad for p in backbone.layer1.parameters())


@pytest.mark.parametrize('key, value, error, sentence', [
    ('step.type', 'mmstepnet.StpNet', ValueError, "got 'mmstepnet.StpNet'"),
    ('step.inputs', 'previous', ValueError, "got 'previous'"),
    ('step.ratio', 16, TypeError, "no argument 'ratio'"),
    ('type', 'mmstepnet.ResNte', KeyError, 'mmstepnet.ResNte'),
    ('depth', 49, ValueError, 'got 49'),
    ('dept', 50, TypeError, "'dept'"),
])
def test_a_typo_gets_one_sentence(key, value, error, sentence):
    cfg = load('faster_rcnn_r50_stepnet_coco.py',
               **{f'model.backbone.{key}': value})
    with pytest.raises(error, match=sentence):
        build(cfg.model, 'mmdet')
