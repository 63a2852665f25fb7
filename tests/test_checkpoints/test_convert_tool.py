# Copyright (c) mmstepnet contributors. All rights reserved.
import runpy
import sys
from pathlib import Path

import pytest
import torch
from sources import error, randomize

from mmstepnet.backbones import CIFARResNet
from mmstepnet.checkpoints import load_weights

pytestmark = pytest.mark.mmpretrain
pytest.importorskip('mmpretrain')
TOOL = Path(__file__).parents[2] / 'tools' / 'convert_checkpoint.py'
CONFIG = """
default_scope = 'mmpretrain'
model = dict(
    type='ImageClassifier',
    backbone=dict(
        type='mmstepnet.CIFARResNet', depth=8, block='basic', step='StepNet'),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(type='LinearClsHead', num_classes=3, in_channels=64))
"""


def plain():
    torch.manual_seed(0)
    return randomize(CIFARResNet(8, block='basic'))


@pytest.fixture
def convert(tmp_path, monkeypatch):
    (tmp_path / 'config.py').write_text(CONFIG)

    def run(weights, *args):
        torch.save(weights, tmp_path / 'plain.pth')
        monkeypatch.setattr(sys, 'argv', [
            'convert_checkpoint.py',
            *(str(tmp_path / name)
              for name in ('config.py', 'plain.pth', 'out.pth')), *args
        ])
        runpy.run_path(str(TOOL), run_name='__main__')
        return load_weights(str(tmp_path / 'out.pth'))

    return run


def test_the_file_makes_the_same_outputs(convert, capsys):
    source = plain()
    weights = convert({
        **source.state_dict(), 'fc.weight': torch.ones(10, 64),
        'fc.bias': torch.ones(10)
    })
    printed = capsys.readouterr().out
    assert 'left in the checkpoint: fc.weight, fc.bias' in printed
    assert 'not in the checkpoint: head.fc.weight, head.fc.bias' in printed
    assert all(name.startswith('backbone.') for name in weights)
    model = CIFARResNet(8, block='basic', step='StepNet').eval()
    model.load_state_dict({
        k.removeprefix('backbone.'): v
        for k, v in weights.items()
    })
    x = torch.rand(2, 3, 16, 16)
    with torch.no_grad():
        assert error(model(x)[0], source(x)[0]) <= 1e-5


def test_another_step_by_option(convert):
    weights = convert(plain().state_dict(), '--cfg-options',
                      'model.backbone.step=SE')
    assert weights['backbone.layer1.0.step.excite.fc2.weight'].eq(0).all()


def test_nothing_is_written_after_an_error(convert, tmp_path, capsys):
    with pytest.raises(SystemExit, match='has no weight of this model'):
        convert({'encoder.weight': torch.ones(1)})
    assert not (tmp_path / 'out.pth').exists()


def test_prefix(convert):
    with pytest.raises(SystemExit, match="under the prefix 'trunk.'"):
        convert(plain().state_dict(), '--prefix', 'trunk.')
    named = {f'trunk.{k}': v for k, v in plain().state_dict().items()}
    assert convert(named, '--prefix', 'trunk.')
