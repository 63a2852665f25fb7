# Copyright (c) mmstepnet contributors. All rights reserved.
import re
import runpy
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

without_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason='about machines without a GPU')
TRAIN = Path(__file__).parents[2] / 'tools' / 'train.py'


def latest_log(work_dir):
    return max(work_dir.glob('*/*.log')).read_text()


@pytest.mark.smoke
@pytest.mark.mmdet
def test_detector(trained_detector):
    log = latest_log(trained_detector)
    losses = re.findall(r'Epoch\(train\) .* loss: ([\d.]+) ', log)
    assert len(losses) == 3
    assert 'coco/bbox_mAP' in log
    assert log.count('come from torchvision') <= 1
    assert (trained_detector / 'epoch_1.pth').is_file()


@pytest.mark.mmpretrain
def test_classifier_with_a_scaled_learning_rate(trained_classifier):
    log = latest_log(trained_classifier)
    assert 'accuracy/top1' in log
    # The stock rate is 0.1 at a batch of 256; here a batch is 2.
    assert f'lr: {0.1 * 2 / 256:.4e} ' in log


@pytest.mark.mmpretrain
def test_mixed_precision_without_validation(workspace, run_tool):
    work_dir = workspace / 'amp'
    result = run_tool('train', 'tiny_classifier.py', '--work-dir', work_dir,
                      '--amp', '--no-validate', '--no-pin-memory',
                      '--no-persistent-workers')
    assert result.code == 0
    log = latest_log(work_dir)
    assert 'Epoch(train) [1][3/3]' in log
    assert 'accuracy/top1' not in log
    assert 'AmpOptimWrapper' in log


@pytest.mark.smoke
@pytest.mark.mmdet
def test_resume_the_latest(workspace, run_tool, trained_detector):
    work_dir = workspace / 'resumed'
    work_dir.mkdir()
    start = trained_detector / 'epoch_1.pth'
    (work_dir / 'last_checkpoint').write_text(str(start))
    result = run_tool('train', 'tiny_detector.py', '--work-dir', work_dir,
                      '--resume', '--no-validate', '--cfg-options',
                      'train_cfg.max_epochs=2')
    assert result.code == 0
    log = latest_log(work_dir)
    assert 'Epoch(train) [2][3/3]' in log
    assert 'Epoch(train) [1]' not in log


@pytest.mark.parametrize('resume, expected', [
    (None, (False, 'start.pth')),
    ('auto', (False, 'start.pth')),
    ('epoch_3.pth', (True, 'epoch_3.pth')),
])
def test_resume_and_load_from(resume, expected):
    apply_args = runpy.run_path(str(TRAIN))['apply_args']
    cfg = Config(dict(resume=False, load_from='start.pth', work_dir='none'))
    args = Namespace(
        amp=False, auto_scale_lr=False, no_validate=False, resume=resume)
    apply_args(cfg, args)
    assert (cfg.resume, cfg.load_from) == expected


@pytest.mark.mmdet
@pytest.mark.parametrize('args, sentence', [
    (['none.py'], "no config file 'none.py'"),
    (['tiny_detector.py', '--launcher', 'pytorch'], 'tools/dist_train.sh'),
    pytest.param(['tiny_detector.py', '--launcher', 'slurm'],
                 'dist_train.sh, got',
                 marks=without_gpu),
    (['tiny_detector.py', '--resume', 'none.pth'
      ], "--resume names a checkpoint that does not exist: 'none.pth'"),
    (['tiny_detector.py', '--cfg-options', 'auto_scale_lr._delete_=True'
      ], None),
])
def test_wrong_arguments(run_tool, args, sentence, monkeypatch):
    monkeypatch.delenv('RANK', raising=False)
    if sentence is None:
        args = [*args, '--auto-scale-lr']
        sentence = 'auto_scale_lr.base_batch_size'
    code = run_tool('train', *args).code
    assert str(code).startswith('error: ') and sentence in code


@pytest.mark.mmdet
@pytest.mark.parametrize('option, sentence', [
    ('model.backbone.step.type=mmstepnet.Nope', "got 'mmstepnet.Nope'"),
    ('model.backbone.depth=19', 'got 19'),
    ('model.backbone.stepp=1', "'stepp'"),
    ('train_dataloader.dataset.ann_file=none.json',
     'train_dataloader.dataset.ann_file of the config'),
    ('train_dataloader.dataset.type=Nope', "'Nope' is no registered dataset"),
    ('load_from=none.pth', "exist: 'none.pth'"),
    ('load_from=tiny_detector.py', 'no PyTorch checkpoint'),
    ('load_from=other.pth', "got keys like 'a.b'"),
])
def test_wrong_configs(workspace, run_tool, option, sentence):
    torch.save(
        dict(state_dict={'a.b': torch.zeros(1)}), workspace / 'other.pth')
    code = run_tool('train', 'tiny_detector.py', '--work-dir', 'wrong',
                    '--cfg-options', option).code
    assert str(code).startswith('error: ') and sentence in code
    assert '\n' not in code
