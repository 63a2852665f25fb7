# Copyright (c) mmstepnet contributors. All rights reserved.
import os

import pytest
import torch
from mmengine.logging import HistoryBuffer
from mmengine.runner.checkpoint import CheckpointLoader

from mmstepnet.compat import read_own_checkpoints


@pytest.mark.smoke
def test_histories_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(CheckpointLoader, '_schemes',
                        dict(CheckpointLoader._schemes))
    path = str(tmp_path / 'epoch_1.pth')
    torch.save(dict(history=HistoryBuffer([1., 3.], [1, 1])), path)
    read_own_checkpoints()
    history = CheckpointLoader.load_checkpoint(path, 'cpu')['history']
    assert history.mean() == 2


class Code:

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f'touch {self.path}', )


def test_code_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(CheckpointLoader, '_schemes',
                        dict(CheckpointLoader._schemes))
    path, sentinel = tmp_path / 'epoch_1.pth', tmp_path / 'has_run'
    torch.save(dict(state_dict=Code(sentinel)), path)
    read_own_checkpoints()
    with pytest.raises(ValueError, match='objects other than weights'):
        CheckpointLoader.load_checkpoint(str(path), 'cpu')
    assert not sentinel.exists()
