# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from mmengine.runner.checkpoint import CheckpointLoader

from mmstepnet.compat import read_own_checkpoints


@pytest.fixture(autouse=True)
def own_checkpoints(monkeypatch):
    """What the tools do before they build a runner."""
    monkeypatch.setattr(CheckpointLoader, '_schemes',
                        dict(CheckpointLoader._schemes))
    read_own_checkpoints()
