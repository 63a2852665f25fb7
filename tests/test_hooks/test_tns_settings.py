# Copyright (c) mmstepnet contributors. All rights reserved.
"""Settings of TNSHook, and how it lives with other hooks."""
import numpy as np
import pytest
import torch
import torchvision
from known_network import KnownModel, known_mean
from known_runner import TOTAL, hooks_of, lines, logged, make_runner

from mmstepnet.hooks import TNSHook


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
