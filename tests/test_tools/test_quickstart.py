# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import os
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

QUICKSTART = Path(__file__).parents[2] / 'tools' / 'quickstart'


@pytest.fixture(scope='module', autouse=True)
def path():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(QUICKSTART))
        yield


@pytest.fixture
def pipeline():
    return import_module('pipeline')


@pytest.fixture
def report():
    return import_module('report')


TRAIN_LINE = ('12/01 21:34:48 - mmengine - INFO - Epoch(train) [1][ 30/90]  '
              'lr: 1.5e-03  eta: 0:03:46  time: 0.3  loss: 2.3009  '
              'loss_cls: 1.1')
VAL_LINE = ('12/01 - mmengine - INFO - Epoch(val) [2][6/6]    '
            'coco/bbox_mAP: 0.3940  coco/bbox_mAP_50: 0.8170  '
            'tns/total: 0.1552  tns/stderr: 0.004')


@pytest.mark.parametrize('line, shown', [
    (TRAIN_LINE, 'Epoch(train) [1][30/90]  eta 0:03:46  loss 2.3009'),
    (VAL_LINE, 'Epoch(val) [2][6/6]  coco/bbox_mAP 0.3940  '
     'coco/bbox_mAP_50 0.8170  tns/total 0.1552'),
    ('max_epochs = 5', None),
    ("train_cfg = dict(type='EpochBasedTrainLoop')", None),
])
def test_progress(pipeline, line, shown):
    assert pipeline.progress(line) == shown


def test_steps_count_from_the_install(pipeline, capsys):
    steps = pipeline.Steps(began=pipeline.time.time() - 75, total=5)
    assert steps.run('double', lambda x: 2 * x, 21) == 42
    assert capsys.readouterr().out == '[2/5] double (1:15 so far)\n'
    assert list(steps.taken) == ['install', 'double']
    assert 74 < steps.taken['install'] < 80


def test_output_goes_to_a_file_and_progress_to_the_screen(
        pipeline, tmp_path, capsys):
    pipeline.run_logged(
        [sys.executable, '-c', f'print("noise"); print({TRAIN_LINE!r})'],
        tmp_path / 'log')
    assert (tmp_path / 'log').read_text() == f'noise\n{TRAIN_LINE}\n'
    assert capsys.readouterr().out.strip() == pipeline.progress(TRAIN_LINE)


@pytest.mark.parametrize('output, reason', [
    ('no more luck', 'no more luck'),
    ('error: no file\nE1201 failed (exitcode: 1)', 'error: no file'),
    ('[rank0]: ValueError: bad value\nfailed', 'ValueError: bad value'),
])
def test_a_failed_command_says_why(pipeline, tmp_path, output, reason):
    command = [sys.executable, '-c', f'import sys; sys.exit({output!r})']
    with pytest.raises(pipeline.Failed) as caught:
        pipeline.run_logged(command, tmp_path / 'log')
    assert f'ended with status 1: {reason} (see ' in str(caught.value)


@pytest.fixture
def training(pipeline, tmp_path):
    """A training of two epochs."""
    (tmp_path / 'config.py').write_text('train_cfg = dict(max_epochs=2)\n'
                                        'train_dataloader = '
                                        'dict(batch_size=4)\n')
    (tmp_path / 'data').write_text('1')
    return pipeline.Training(tmp_path / 'config.py', tmp_path / 'work',
                             [tmp_path / 'data'])


@pytest.fixture
def commands(pipeline, training, monkeypatch):
    """The commands that ran, each of which left the last checkpoint."""
    commands = []

    def run_logged(command, log):
        commands.append([str(part) for part in command])
        training.checkpoint.touch()
        (training.work_dir / 'last_checkpoint').write_text(
            str(training.checkpoint))

    monkeypatch.setattr(pipeline, 'run_logged', run_logged)
    monkeypatch.setattr(pipeline.torch.cuda, 'device_count', lambda: 0)
    return commands


def test_training_goes_through_the_launcher(pipeline, training, commands,
                                            tmp_path):
    assert pipeline.train(training)
    assert commands == [[
        'bash',
        str(QUICKSTART.parent / 'dist_train.sh'),
        str(tmp_path / 'config.py'), '2', '--work-dir',
        str(tmp_path / 'work'), '--resume'
    ]]


def test_finished_training_is_reused(pipeline, training, commands):
    assert pipeline.train(training)
    assert not pipeline.train(training)
    assert len(commands) == 1


def test_interrupted_training_goes_on(pipeline, training, commands, tmp_path):
    pipeline.train(training)
    (tmp_path / 'work' / 'finished').unlink()
    (tmp_path / 'work' / 'epoch_1.pth').touch()
    assert pipeline.train(training)
    assert (tmp_path / 'work' / 'epoch_1.pth').exists()


def test_lost_checkpoint_starts_over(pipeline, training, commands, tmp_path):
    pipeline.train(training)
    training.checkpoint.unlink()
    (tmp_path / 'work' / 'output.log').touch()
    assert pipeline.train(training)
    assert not (tmp_path / 'work' / 'output.log').exists()


@pytest.mark.parametrize('name, text', [
    ('config.py', 'train_cfg = dict(max_epochs=2)\nlr = 2\n'),
    ('data', '2'),
])
def test_changed_inputs_start_over(pipeline, training, commands, tmp_path,
                                   name, text):
    pipeline.train(training)
    (tmp_path / 'work' / 'epoch_1.pth').touch()
    (tmp_path / name).write_text(text)
    assert pipeline.train(training)
    assert not (tmp_path / 'work' / 'epoch_1.pth').exists()


@pytest.mark.parametrize('gpus, options', [
    (0, ['2']),
    (1, ['1', '--cfg-options', 'train_dataloader.batch_size=8']),
    (2, ['2']),
    (8, ['2']),
])
def test_total_batch_is_the_same_on_any_machine(pipeline, training,
                                                monkeypatch, gpus, options):
    monkeypatch.setattr(pipeline.torch.cuda, 'device_count', lambda: gpus)
    assert list(pipeline.process_options(training)) == options


@pytest.mark.mmdet
@pytest.mark.mmpretrain
def test_the_two_configs_fit(pipeline, monkeypatch):
    monkeypatch.chdir(QUICKSTART.parents[1])
    classifier = pipeline.Training(
        pipeline.CONFIGS / 'resnet34_stepnet_digits.py',
        pipeline.WORK_DIR / 'classifier', [])
    detector = pipeline.Config.fromfile(pipeline.CONFIGS /
                                        'faster_rcnn_r34_stepnet_digits.py')
    start = detector.model.backbone.init_cfg
    assert Path(start.checkpoint) == classifier.checkpoint
    assert start.prefix == 'backbone.'
    pretrained = classifier.load().model.backbone
    for key in ('type', 'depth', 'base_channels', 'step'):
        assert detector.model.backbone[key] == pretrained[key]


def test_errors_name_the_step(pipeline, monkeypatch, capsys):

    def fail():
        raise pipeline.Failed('no disk')

    monkeypatch.setattr(pipeline, 'build_data', fail)
    monkeypatch.setattr(pipeline.os, 'chdir', lambda path: None)
    monkeypatch.setattr(pipeline.signal, 'signal', lambda *args: None)
    monkeypatch.setattr(pipeline.sys, 'argv', ['pipeline.py'])
    monkeypatch.setattr(
        pipeline.sys.stdout, 'reconfigure', lambda **_: None, raising=False)
    monkeypatch.chdir(QUICKSTART.parents[1])
    with pytest.raises(SystemExit, match='error: step 2 of 5 failed: no disk'):
        pipeline.main()


def write_scalars(work_dir, runs):
    for name, entries in runs.items():
        folder = work_dir / name / 'vis_data'
        folder.mkdir(parents=True)
        (folder / 'scalars.json').write_text('\n'.join(
            json.dumps(entry) for entry in entries))


@pytest.fixture
def trained(tmp_path):
    """What the two trainings log."""
    tns = {'tns/total': 0.2, 'tns/stderr': 0.01}
    write_scalars(
        tmp_path / 'classifier', {
            '1': [{
                'loss': 2.0,
                'step': 30
            }, {
                'accuracy/top1': 90.0,
                'step': 1,
                **tns
            }]
        })
    ap = {
        'coco/bbox_mAP': 0.4,
        'coco/bbox_mAP_50': 0.9,
        'coco/bbox_mAP_75': 0.3
    }
    write_scalars(
        tmp_path / 'detector', {
            '1': [{
                'loss': 3.0,
                'step': 10
            }, {
                'loss': 9.0,
                'step': 20
            }],
            '2': [{
                'loss': 2.0,
                'step': 20
            }, {
                'step': 1,
                **ap,
                **tns
            }]
        })
    return tmp_path


def test_scalars_of_a_resumed_training(report, trained):
    scalars = report.read_scalars(trained / 'detector')
    assert scalars['loss'] == {10: 3.0, 20: 2.0}
    assert report.last(scalars['coco/bbox_mAP']) == 0.4


def test_summary_says_whether_the_targets_are_reached(report, trained):
    summary = report.summarize(trained / 'classifier', trained / 'detector',
                               dict(install=60.4, train=30.0),
                               dict(curves=trained / 'curves.png'))
    assert '| detector, AP50 | 0.900 | at least 0.85: reached |' in summary
    assert '| detector, AP | 0.400 | at least 0.5: NOT REACHED |' in summary
    assert '| detector, TNS | 0.2000 ± 0.0100 | |' in summary
    assert '| all | 90 |' in summary
    assert f'* curves: {trained}/curves.png' in summary


def test_pictures(report, trained):
    import cv2
    report.draw_curves({'Detection': trained / 'detector'},
                       trained / 'curves.png')
    image = np.zeros((32, 32, 3), np.uint8)
    boxes = [report.Box((4, 4, 20, 20), 3), report.Box((0, 0, 9, 9), 1, 0.9)]
    scenes = [(f'{i}.png', image, boxes[:1], boxes) for i in range(3)]
    report.draw_scenes(scenes, trained / 'scenes.png', columns=2)
    for name in ('curves.png', 'scenes.png'):
        assert cv2.imread(os.fspath(trained / name)).std() > 0
