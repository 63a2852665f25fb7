# Copyright (c) mmstepnet contributors. All rights reserved.
"""The recipes of In-ResNet's paper, and AlterNet beside its relatives."""
import pytest
from mmengine.optim import build_optim_wrapper
from repo_configs import build, count, load

from mmstepnet.steps import InResNet, LambdaInResNet, Unit

pytestmark = pytest.mark.mmpretrain
NETWORKS = ('preact110', 'preact164', 'resnext29-8x64d')
STEPS = {
    'plain': Unit,
    'inresnet': InResNet,
    'lambda-inresnet': LambdaInResNet
}
SCHEDULES = dict(cifar10=(160, [80, 120]), cifar100=(300, [150, 225]))


def config(network, step, data, folder='inresnet'):
    return load(f'{folder}/{network}_{step}_1xb128_{data}.py')


@pytest.mark.parametrize('data', SCHEDULES)
@pytest.mark.parametrize('step', STEPS)
@pytest.mark.parametrize('network', NETWORKS)
def test_recipe(network, step, data):
    cfg = config(network, step, data)
    epochs, milestones = SCHEDULES[data]
    assert cfg.train_cfg.max_epochs == epochs
    assert cfg.param_scheduler.milestones == milestones
    assert cfg.param_scheduler.gamma == 0.1
    assert cfg.train_dataloader.batch_size == 128
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.lr, optimizer.weight_decay) == \
        ((0.05, 5e-4) if 'resnext' in network else (0.1, 1e-4))
    assert cfg.model.head.num_classes == int(data[5:])


@pytest.mark.parametrize('network', NETWORKS)
def test_one_damping_in_every_block_that_keeps_its_shape(network):
    models = {
        step: build(config(network, step, 'cifar10').model, 'mmpretrain')
        for step in STEPS
    }
    for step, model in models.items():
        kinds = [set(), set()]
        for block in model.backbone.blocks():
            kinds[block.downsample is not None].add(type(block.step))
        assert kinds == [{STEPS[step]}, {Unit}]
        damped = sum(b.downsample is None for b in model.backbone.blocks())
        assert count(model) - count(models['plain']) == (0 if step == 'plain'
                                                         else damped)


@pytest.mark.parametrize('network', NETWORKS)
def test_first_damping(network):
    model = build(
        config(network, 'inresnet', 'cifar10').model, 'mmpretrain', 'cpu')
    low, high = (0.1, 0.2) if network == 'preact164' else (0.2, 0.25)
    lams = [m.lam.item() for m in model.modules() if isinstance(m, InResNet)]
    assert lams and low <= min(lams) and max(lams) <= high


def test_weight_decay_acts_on_the_damping_by_default():
    cfg = config('preact110', 'inresnet', 'cifar10')
    model = build(cfg.model, 'mmpretrain', 'cpu')
    for decay_mult in (None, 0.):
        if decay_mult is not None:
            cfg.merge_from_dict({
                'optim_wrapper.paramwise_cfg':
                dict(custom_keys={'step.lam': dict(decay_mult=decay_mult)})
            })
        groups = build_optim_wrapper(model, cfg.optim_wrapper).param_groups
        lams = {id(m.lam) for m in model.modules() if isinstance(m, InResNet)}
        decays = {
            group['weight_decay']
            for group in groups
            for p in group['params'] if id(p) in lams
        }
        assert decays == {1e-4 if decay_mult is None else 0.}


@pytest.mark.parametrize('data', SCHEDULES)
def test_alternet_differs_from_the_resnet_in_its_last_blocks_alone(data):
    alternet = config('alternet110', 'plain', data, 'alternet')
    resnet = config('preact110', 'plain', data)
    assert alternet.optim_wrapper == resnet.optim_wrapper
    kinds = [[
        type(b).__name__
        for b in build(cfg.model, 'mmpretrain').backbone.blocks()
    ] for cfg in (resnet, alternet)]
    differ = [i for i, (a, b) in enumerate(zip(*kinds)) if a != b]
    assert differ == [35, 51, 53]
    assert {kinds[1][i] for i in differ} == {'AttentionBlock'}
