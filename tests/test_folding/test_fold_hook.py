# Copyright (c) mmstepnet contributors. All rights reserved.
import runpy
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DATASETS
from mmengine.runner import Runner
from torch.utils.data import Dataset

from mmstepnet.checkpoints import load_weights
from mmstepnet.registry import MODELS

pytestmark = pytest.mark.mmpretrain
pytest.importorskip('mmpretrain')
TOOLS = Path(__file__).parents[2] / 'tools'


@DATASETS.register_module()
class Squares(Dataset):
    """Six images of two classes."""
    metainfo = dict(classes=('dark', 'light'))

    def __len__(self):
        return 6

    def __getitem__(self, index):
        from mmpretrain.structures import DataSample
        image = torch.full((3, 32, 32), 100. * (index % 2))
        sample = DataSample().set_gt_label(index % 2)
        return dict(inputs=image, data_samples=sample)


def config(step, work_dir, **kwargs):
    return Config(
        dict(
            default_scope='mmpretrain',
            work_dir=str(work_dir),
            model=dict(
                type='ImageClassifier',
                data_preprocessor=dict(num_classes=2),
                backbone=dict(
                    type='mmstepnet.CIFARResNet',
                    depth=8,
                    block='basic',
                    step=step),
                neck=dict(type='GlobalAveragePooling'),
                head=dict(type='LinearClsHead', num_classes=2,
                          in_channels=64)),
            train_dataloader=dict(
                dataset=dict(type='Squares'),
                batch_size=3,
                sampler=dict(type='DefaultSampler', shuffle=False),
                collate_fn=dict(type='default_collate')),
            optim_wrapper=dict(optimizer=dict(type='SGD', lr=.05)),
            train_cfg=dict(by_epoch=True, max_epochs=1),
            custom_hooks=[dict(type='mmstepnet.FoldStepsHook')],
            **kwargs))


def test_train_then_fold(tmp_path, monkeypatch, capsys):
    cfg = config(dict(type='mmstepnet.ASR', gate='IE'), tmp_path)
    runner = Runner.from_cfg(cfg)
    start = runner.model.backbone.layer1[0].step.psi.clone()
    runner.train()
    step = runner.model.backbone.layer1[0].step
    assert not step.gate.excite.bias.eq(-1).any()
    assert step.psi.shape == start.shape and runner.model.training

    plain_cfg = Config.fromfile(tmp_path / 'folded.py')
    assert plain_cfg.model.backbone.step is None
    assert not plain_cfg.custom_hooks
    plain = MODELS.build(plain_cfg.model).eval()
    weights = load_weights(str(tmp_path / 'folded.pth'))
    plain.load_state_dict(weights)
    images = torch.randn(2, 3, 32, 32)
    runner.model.eval()
    with torch.no_grad():
        torch.testing.assert_close(
            plain(images), runner.model(images), rtol=1e-5, atol=1e-6)

    cfg.dump(tmp_path / 'config.py')
    by_tool = tmp_path / 'by_tool.pth'
    monkeypatch.setattr(sys, 'argv', [
        'fold_steps.py', *(str(tmp_path / name)
                           for name in ('config.py', 'epoch_1.pth')),
        str(by_tool)
    ])
    runpy.run_path(str(TOOLS / 'fold_steps.py'), run_name='__main__')
    assert 'folded 3 blocks' in capsys.readouterr().out
    for name, value in load_weights(str(by_tool)).items():
        assert value.equal(weights[name])
    content = torch.load(by_tool, weights_only=True)
    assert content['meta']['dataset_meta'] == Squares.metainfo
    assert (tmp_path / 'by_tool.py').is_file()

    monkeypatch.setattr(sys, 'argv', [
        'fold_steps.py',
        str(tmp_path / 'config.py'),
        str(by_tool),
        str(tmp_path / 'twice.pth')
    ])
    with pytest.raises(SystemExit, match='is not of this config: expected '):
        runpy.run_path(str(TOOLS / 'fold_steps.py'), run_name='__main__')
    assert not (tmp_path / 'twice.pth').exists()


def test_averaged_weights_are_folded(tmp_path):
    cfg = config('ASR', tmp_path)
    cfg.custom_hooks.append(dict(type='EMAHook'))
    runner = Runner.from_cfg(cfg)
    runner.train()
    folded = load_weights(str(tmp_path / 'folded.pth'))
    saved = load_weights(str(tmp_path / 'epoch_1.pth'))
    name = 'backbone.layer1.0.conv1.weight'
    assert folded[name].equal(saved[name])
    assert not folded[name].equal(runner.model.state_dict()[name])


@pytest.mark.parametrize('step, message', [
    ('StepNet', 'whose size never depends on the input, got StepNet'),
    ('SE', 'whose size never depends on the input, got SE'),
    ('InResNet', 'only a constant step size folds'),
    (None, 'nothing to fold'),
])
def test_refused_before_training(step, message, tmp_path):
    runner = Runner.from_cfg(config(step, tmp_path))
    with pytest.raises(ValueError, match=message):
        runner.train()
    assert runner.iter == 0
