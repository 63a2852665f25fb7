# Copyright (c) mmstepnet contributors. All rights reserved.
"""Warm starts from a config."""
import pytest
import torch
from resnet18 import build, output, trunk
from sources import OfficialSE, attention_resnet18, error

from mmstepnet.registry import MODELS


@pytest.mark.parametrize('step', ['StepNet', 'SE'])
def test_as_init_cfg(step, plain, tmp_path, monkeypatch):
    printed = []
    monkeypatch.setattr('mmstepnet.checkpoints.warm.print_log',
                        lambda text, **_: printed.append(text))
    weights, expected = plain
    file = str(tmp_path / 'plain.pth')
    torch.save(dict(state_dict=weights), file)
    init_cfg = dict(type='mmstepnet.WarmStart', checkpoint=file)
    model = build(step, init_cfg=init_cfg)
    model.init_weights()
    assert error(output(model), expected) <= 1e-5
    assert printed[0].startswith(f'warm start from {file}')


def test_as_init_cfg_keeps_loaded_steps(tmp_path):
    source = attention_resnet18('se', OfficialSE)
    file = str(tmp_path / 'se.pth')
    torch.save(source.state_dict(), file)
    model = build(
        dict(type='mmstepnet.SE', bias=False),
        frozen_stages=1,
        freeze_steps=True,
        init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file))
    model.init_weights()
    assert error(output(model), trunk(source)) <= 1e-5
    assert all(step.is_loaded for step in model.frozen_steps())


def test_as_init_cfg_of_the_whole_model(plain, tmp_path):
    pytest.importorskip('mmpretrain')
    file = str(tmp_path / 'plain.pth')
    torch.save(plain[0], file)
    model = MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            backbone=dict(
                type='mmstepnet.ResNet',
                depth=18,
                step='SE',
                out_indices=(3, )),
            init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file),
            _scope_='mmpretrain')).eval()
    model.init_weights()
    assert error(output(model.backbone), plain[1]) <= 1e-5


def test_foreign_checkpoint_as_init_cfg(tmp_path):
    file = str(tmp_path / 'other.pth')
    torch.save({'encoder.weight': torch.ones(1)}, file)
    model = build(
        'SE', init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=file))
    with pytest.raises(ValueError, match='has no weight of this model'):
        model.init_weights()
