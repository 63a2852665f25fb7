# Copyright (c) mmstepnet contributors. All rights reserved.
import math

import pytest
from known_network import STEP_SIZE, Half, KnownModel, known_mean
from known_runner import TOTAL, hooks_of, lines, logged, make_runner
from mmengine.registry import DefaultScope
from torch import nn


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
