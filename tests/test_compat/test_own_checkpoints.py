# Copyright (c) mmstepnet contributors. All rights reserved.
import torch
from mmengine.logging import HistoryBuffer
from mmengine.runner import checkpoint as mmengine_checkpoint

from mmstepnet.compat import read_own_checkpoints

CheckpointLoader = mmengine_checkpoint.CheckpointLoader


def test_histories_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(CheckpointLoader, '_schemes',
                        dict(CheckpointLoader._schemes))
    monkeypatch.delattr(mmengine_checkpoint, '_safe_torch_load', raising=False)
    path = str(tmp_path / 'epoch_1.pth')
    torch.save(dict(history=HistoryBuffer([1., 3.], [1, 1])), path)
    read_own_checkpoints()
    history = CheckpointLoader.load_checkpoint(path, 'cpu')['history']
    assert history.mean() == 2


def test_a_loader_that_copes_is_left_alone(monkeypatch):
    schemes = dict(CheckpointLoader._schemes)
    monkeypatch.setattr(
        mmengine_checkpoint, '_safe_torch_load', torch.load, raising=False)
    read_own_checkpoints()
    assert CheckpointLoader._schemes == schemes
