# Copyright (c) mmstepnet contributors. All rights reserved.
import itertools
import json
import math
import os.path as osp

import numpy as np
import pytest
import torch
import torchvision
from known_network import (SCALES, STEP_SIZE, Half, KnownDataset, KnownModel,
                           NoMetric, known_mean)
from mmengine.evaluator import Evaluator
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import nn

from mmstepnet.hooks import TNSHook
from mmstepnet.stiffness import tns

NUMBERS = itertools.count()
MEASURED = [list(scales[1:]) for scales in SCALES.values()]
TOTAL = tns(torch.tensor([sum(MEASURED, [])]),
            [len(m) for m in MEASURED]).item()


def make_runner(work_dir,
                hook=None,
                model=None,
                epochs=0,
                batch_size=2,
                size=7,
                broken=(),
                **kwargs):
    loader = dict(
        batch_size=batch_size,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False, round_up=size > 0),
        dataset=KnownDataset(size, broken),
        collate_fn=dict(type='pseudo_collate'))
    if epochs:
        kwargs.update(
            train_dataloader=loader,
            train_cfg=dict(by_epoch=True, max_epochs=epochs, val_interval=1),
            optim_wrapper=dict(optimizer=dict(type='SGD', lr=0.1)))
    kwargs.setdefault('default_hooks', dict(checkpoint=None))
    return Runner(
        model=model or KnownModel(),
        work_dir=str(work_dir),
        val_dataloader=loader,
        val_cfg=kwargs.pop('val_cfg', dict()),
        val_evaluator=Evaluator(NoMetric()),
        test_dataloader=loader,
        test_cfg=dict(),
        test_evaluator=Evaluator(NoMetric()),
        custom_hooks=[hook or dict(type='mmstepnet.TNSHook')],
        default_scope='mmengine',
        experiment_name=f'tns_{next(NUMBERS)}',
        **kwargs)


def lines(work_dir):
    with open(osp.join(work_dir, 'tns.jsonl')) as file:
        return [json.loads(line) for line in file]


def logged(work_dir):
    return ''.join(p.read_text() for p in work_dir.glob('*/*.log'))


def hooks_of(model):
    return sum(len(m._forward_hooks) for m in model.modules())


@pytest.mark.smoke
def test_known_network(tmp_path):
    runner = make_runner(tmp_path)
    metrics = runner.val()
    assert metrics['tns/total'] == pytest.approx(known_mean(TOTAL), rel=1e-6)
    assert metrics['tns/layer1'] == pytest.approx(known_mean(1.5), rel=1e-6)
    assert metrics['tns/layer2'] == 0
    assert metrics['tns/layer3'] == pytest.approx(known_mean(4), rel=1e-6)
    assert metrics['nsi/layer3.3'] == pytest.approx(known_mean(4), rel=1e-6)
    deviation = math.sqrt(sum((i - 4)**2 for i in range(1, 8)) / 6 / 7)
    assert metrics['tns/stderr'] == pytest.approx(TOTAL * deviation, rel=1e-6)
    assert 'nsi/layer1.0' not in metrics
    hub = runner.message_hub
    assert hub.get_scalar('val/tns/total').current() == metrics['tns/total']
    record, = lines(tmp_path)
    assert record['mode'] == 'val' and record['epoch'] is None
    assert record['total'] == dict(
        mean=metrics['tns/total'], stderr=metrics['tns/stderr'], num_samples=7)
    assert record['undefined'] == ['layer2']
    assert record['blocks']['layer1.2']['step_size'] == 1
    assert hooks_of(runner.model) == 0
    log = logged(tmp_path)
    assert 'over 7 samples' in log and 'tns/total: ' in log


@pytest.mark.parametrize('dt, factor', [('own', 1), ('unit', STEP_SIZE)])
def test_both_step_sizes(tmp_path, dt, factor):
    model = KnownModel(step=Half)
    hook = dict(type='mmstepnet.TNSHook', dt=dt)
    metrics = make_runner(tmp_path, hook, model).test()
    assert metrics['tns/total'] == pytest.approx(
        known_mean(TOTAL) * factor, rel=1e-6)
    record, = lines(tmp_path)
    assert record['mode'] == 'test'
    assert record['blocks']['layer1.1']['step_size'] == STEP_SIZE


def validate(rank, world_size, work_dir, named, broken, size):
    DefaultScope._instance_dict.clear()
    runner = make_runner(
        work_dir, model=KnownModel(named=named), broken=broken, size=size)
    metrics = runner.val()
    return metrics, hooks_of(runner.model)


@pytest.mark.ddp
@pytest.mark.parametrize('named', [True, False])
@pytest.mark.parametrize('size', [7, 1])
def test_two_processes_equal_one(gloo_pool, tmp_path, named, size):
    expected, _ = validate(0, 1, str(tmp_path / 'one'), named, (), size)
    results = gloo_pool.run(validate, str(tmp_path / 'two'), named, (), size)
    for metrics, hooks in results:
        assert hooks == 0
        assert metrics.keys() == expected.keys()
        for name, value in expected.items():
            assert metrics[name] == pytest.approx(value, rel=1e-6), name
    assert expected['tns/total'] == pytest.approx(
        known_mean(TOTAL, size), rel=1e-6)
    record, = lines(tmp_path / 'two')
    assert record['total']['num_samples'] == size


@pytest.mark.ddp
def test_broken_samples_in_two_processes(gloo_pool, tmp_path):
    results = gloo_pool.run(validate, str(tmp_path), True, (0, 3), 7)
    expected = TOTAL * (2 + 3 + 5 + 6 + 7) / 5
    for metrics, _ in results:
        assert metrics['tns/total'] == pytest.approx(expected, rel=1e-6)
    record, = lines(tmp_path)
    assert record['total']['num_samples'] == 5
    assert record['non_finite'] == {
        '0.png, 0': 'layer1.1',
        '3.png, 3': 'layer1.1'
    }


def test_exception_leaves_no_hook(tmp_path):
    model = KnownModel(fail_at=4)
    runner = make_runner(tmp_path, model=model)
    with pytest.raises(RuntimeError, match='no way'):
        runner.val()
    assert hooks_of(model) == 0
    assert 'step_size' not in vars(model.backbone.layer1[1].step)
    model.fail_at = None
    assert runner.val()['tns/total'] == pytest.approx(known_mean(TOTAL))
    assert hooks_of(model) == 0


@pytest.mark.smoke
def test_training_with_ema_best_checkpoint_and_resume(tmp_path):
    hooks = dict(
        checkpoint=dict(
            type='CheckpointHook',
            interval=1,
            save_best='tns/total',
            rule='greater'))

    def build(epochs, **kwargs):
        runner = make_runner(
            tmp_path, epochs=epochs, default_hooks=hooks, **kwargs)
        runner.register_hook(dict(type='EMAHook'))
        runner.train()
        return runner

    runner = build(2)
    assert len(lines(tmp_path)) == 2
    assert list(tmp_path.glob('best_tns_total_epoch_*.pth'))
    runner = build(3, resume=True)
    records = lines(tmp_path)
    assert [record['epoch'] for record in records] == [1, 2, 3]
    for record in records:
        assert record['total']['num_samples'] == 7
        assert record['total']['mean'] == pytest.approx(
            known_mean(TOTAL), rel=1e-6)
    # The checkpoint of epoch 2 was written before the validation of epoch 2.
    history = runner.message_hub.get_scalar('val/tns/total')._log_history
    assert len(history) == 2
    assert hooks_of(runner.model) == 0


def test_ema_weights_are_the_ones_measured(tmp_path):
    """The averaged scales are twice the trained ones."""
    runner = make_runner(tmp_path, epochs=1)
    runner.register_hook(dict(type='EMAHook'))
    ema = next(h for h in runner.hooks if type(h).__name__ == 'EMAHook')
    update = ema.after_train_iter

    def twofold(*args, **kwargs):
        update(*args, **kwargs)
        for name, value in ema.ema_model.named_parameters():
            if 'scale' in name:
                value.data.copy_(2 * dict(runner.model.named_parameters())[
                    name.removeprefix('module.')].data)

    ema.after_train_iter = twofold
    runner.train()
    record, = lines(tmp_path)
    assert record['total']['mean'] == pytest.approx(
        2 * known_mean(TOTAL), rel=1e-6)


def test_zero_by_definition(tmp_path):
    model = KnownModel(scales=dict(layer1=(9., 1.), layer2=(9., 2.)))
    metrics = make_runner(tmp_path, model=model).val()
    assert metrics['tns/total'] == 0
    assert 'TNS is 0 by definition' in logged(tmp_path)
    assert lines(tmp_path)[0]['undefined'] == ['layer1', 'layer2']


def test_no_residual_block(tmp_path):
    model = KnownModel()
    model.backbone = nn.Identity()
    metrics = make_runner(tmp_path, model=model).val()
    assert set(metrics) == {'count'}
    assert logged(tmp_path).count('No residual block was found') == 1
    assert not (tmp_path / 'tns.jsonl').exists()


def test_all_samples_broken(tmp_path):
    metrics = make_runner(tmp_path, broken=range(7)).val()
    assert set(metrics) == {'count'}
    log = logged(tmp_path)
    assert 'TNS was not measured' in log and '7 samples' in log
    assert lines(tmp_path)[0]['total'] == dict(
        mean=None, stderr=None, num_samples=0)


def test_every_second_validation(tmp_path):
    hook = dict(type='mmstepnet.TNSHook', interval=2, surface_interval=2)
    make_runner(tmp_path, hook, epochs=5).train()
    assert [record['epoch'] for record in lines(tmp_path)] == [2, 4]
    surface, = tmp_path.glob('tns_surface_val_*.npz')
    with np.load(surface) as arrays:
        cell = arrays['m1'][1] * arrays['m2'][1]
        area = arrays['delta'][:-1, :-1].sum() * cell
    assert area == pytest.approx(known_mean(TOTAL), rel=0.1)


@pytest.mark.parametrize('limit', [1, 3, 7, 9])
def test_fixed_subset(tmp_path, limit):
    model = KnownModel()
    hook = dict(type='mmstepnet.TNSHook', num_samples=limit)
    metrics = make_runner(tmp_path, hook, model).val()
    size = min(limit, 7)
    assert lines(tmp_path)[0]['total']['num_samples'] == size
    assert metrics['tns/total'] == pytest.approx(
        known_mean(TOTAL, size), rel=1e-6)
    assert hooks_of(model) == 0


def subset(rank, world_size, work_dir):
    hook = dict(type='mmstepnet.TNSHook', num_samples=3)
    return make_runner(work_dir, hook, batch_size=1).val()


@pytest.mark.ddp
def test_fixed_subset_in_two_processes(gloo_pool, tmp_path):
    for metrics in gloo_pool.run(subset, str(tmp_path)):
        assert metrics['tns/total'] == pytest.approx(
            known_mean(TOTAL, 3), rel=1e-6)


def test_several_passes_of_one_runner(tmp_path):
    runner = make_runner(tmp_path)
    first, second, third = runner.val(), runner.test(), runner.val()
    for metrics in (first, second, third):
        assert metrics['tns/total'] == pytest.approx(
            known_mean(TOTAL), rel=1e-6)
    assert [record['mode']
            for record in lines(tmp_path)] == ['val', 'test', 'val']
    assert 'run' not in vars(runner.val_loop)


def test_early_stopping(tmp_path):
    runner = make_runner(tmp_path, epochs=9)
    runner.register_hook(
        dict(
            type='EarlyStoppingHook',
            monitor='tns/total',
            rule='greater',
            patience=2))
    runner.train()
    assert runner.epoch == 3


def test_tensorboard(tmp_path):
    event_accumulator = pytest.importorskip(
        'tensorboard.backend.event_processing.event_accumulator')
    visualizer = dict(
        type='Visualizer', vis_backends=[dict(type='TensorboardVisBackend')])
    make_runner(tmp_path, epochs=2, visualizer=visualizer).train()
    file, = tmp_path.glob('*/vis_data/events*')
    events = event_accumulator.EventAccumulator(str(file)).Reload()
    curve = events.Scalars('tns/total')
    assert [point.step for point in curve] == [1, 2]
    assert curve[0].value == pytest.approx(known_mean(TOTAL), rel=1e-6)
    assert 'nsi/layer3.3' in events.Tags()['scalars']


def test_amp(tmp_path):
    runner = make_runner(tmp_path, val_cfg=dict(fp16=True))
    assert runner.val()['tns/total'] == pytest.approx(
        known_mean(TOTAL), rel=1e-2)


def test_foreign_network(tmp_path):

    class Foreign(KnownModel):

        def forward(self, inputs, data_samples=None, mode='tensor'):
            images = torch.stack(tuple(inputs))[:, [0, 0, 0]]
            self.backbone(images.repeat(1, 1, 8, 8))
            return data_samples

    model = Foreign()
    model.backbone = torchvision.models.resnet34(width_per_group=64)
    metrics = make_runner(tmp_path, model=model).val()
    assert metrics['tns/total'] > 0
    assert 'enters its last activation' in logged(tmp_path)
    hook = dict(type='mmstepnet.TNSHook', blocks=['backbone.layer9.1'])
    with pytest.raises(ValueError, match="named 'backbone.layer9.1'"):
        make_runner(tmp_path, hook, model).val()


@pytest.mark.parametrize('kwargs, sentence', [
    (dict(dt='two'), "'own' or 'unit', got 'two'"),
    (dict(interval=0), 'interval must be at least 1, got 0'),
    (dict(num_samples=0), 'at least 1 or None, got 0'),
])
def test_wrong_arguments(kwargs, sentence):
    with pytest.raises(ValueError, match=sentence):
        TNSHook(**kwargs)


def test_empty_validation_set(tmp_path):
    metrics = make_runner(tmp_path, size=0).val()
    assert not any('tns' in name for name in metrics)
    assert 'TNS was not measured: no sample' in logged(tmp_path)
