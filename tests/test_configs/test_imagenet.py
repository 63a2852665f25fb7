# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from repo_configs import STEPS, build, count, load, without_scopes

pytestmark = pytest.mark.mmpretrain

PARAMETERS = {
    50:
    dict(
        plain=25_557_032,
        se=25_557_032 + 2_530_992,
        eca=25_557_032 + 86,
        sge=25_557_032 + 2_048,
        stepnet=25_557_032 + 67_584),
    # SE adds 2 C^2 / 16 + C / 16 + C in a block of C channels, ECA a kernel
    # of 3, 5, 5 and 5, SGE two numbers for each of 64 groups.
    34:
    dict(
        plain=21_797_672,
        se=21_797_672 +
        sum(blocks * (2 * c * (c // 16) + c // 16 + c)
            for blocks, c in zip((3, 4, 6, 3), (64, 128, 256, 512))),
        eca=21_797_672 + 3 * 3 + 4 * 5 + 6 * 5 + 3 * 5,
        sge=21_797_672 + 16 * 2 * 64,
        stepnet=21_797_672 + 17_280)
}

both_depths = pytest.mark.parametrize('depth', [34, 50])
all_steps = pytest.mark.parametrize('step', STEPS)


@both_depths
@all_steps
def test_backbone_and_length_differ_from_the_stock_config(depth, step):
    ours = without_scopes(load(f'imagenet/resnet{depth}_{step}_8xb32_in1k.py'))
    stock = without_scopes(
        load(f'mmpretrain::resnet/resnet{depth}_8xb32_in1k.py'))
    backbone = ours['model']['backbone']
    assert backbone.pop('type') == 'mmstepnet.ResNet'
    kind = backbone.pop('step', None)
    assert kind == (STEPS[step] and dict(type=f'mmstepnet.{STEPS[step]}'))
    assert stock['model']['backbone'].pop('type') == 'ResNet'
    assert ours.pop('custom_hooks') == [dict(type='mmstepnet.TNSHook')]
    assert ours['train_cfg'].pop('max_epochs') == 120
    assert stock['train_cfg'].pop('max_epochs') == 100
    assert ours == stock


def test_recipe():
    cfg = load('imagenet/resnet50_stepnet_8xb32_in1k.py')
    assert cfg.auto_scale_lr.base_batch_size == 256
    assert cfg.train_dataloader.batch_size * 8 == 256
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr) == ('SGD', 0.1)
    assert optimizer.weight_decay == 1e-4
    assert cfg.param_scheduler.milestones == [30, 60, 90]
    assert cfg.param_scheduler.gamma == 0.1


@both_depths
@all_steps
def test_parameters(depth, step):
    cfg = load(f'imagenet/resnet{depth}_{step}_8xb32_in1k.py')
    model = build(cfg.model, 'mmpretrain')
    assert count(model) == PARAMETERS[depth][step]
