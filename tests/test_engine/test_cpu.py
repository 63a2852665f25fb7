# Copyright (c) mmstepnet contributors. All rights reserved.
import subprocess
import sys
from datetime import timedelta

import pytest
from mmengine.config import Config

from mmstepnet.engine import cpu, init_cpu_processes


@pytest.fixture
def groups(monkeypatch):
    """The process groups that would have been made."""
    calls = []
    monkeypatch.setattr(cpu.dist, 'init_process_group',
                        lambda *args, **kwargs: calls.append((args, kwargs)))
    monkeypatch.setattr(cpu, 'get_device', lambda: 'cpu')
    return calls


def test_group_and_wrapper_without_a_gpu(groups):
    cfg = Config(
        dict(
            launcher='pytorch',
            find_unused_parameters=True,
            env_cfg=dict(dist_cfg=dict(backend='nccl', timeout=60))))
    init_cpu_processes(cfg)
    assert groups == [(('gloo', ), dict(timeout=timedelta(seconds=60)))]
    assert cfg.model_wrapper_cfg == dict(
        type='MMDistributedDataParallel',
        broadcast_buffers=False,
        find_unused_parameters=True,
        device_ids=None)


def test_a_wrapper_of_the_config_is_kept(groups):
    wrapper = dict(type='Mine', static_graph=True)
    cfg = Config(dict(launcher='pytorch', model_wrapper_cfg=wrapper))
    init_cpu_processes(cfg)
    assert groups == [(('gloo', ), dict(timeout=None))]
    assert cfg.model_wrapper_cfg == dict(wrapper, device_ids=None)


def test_one_process_needs_nothing(groups):
    cfg = Config(dict(launcher='none'))
    init_cpu_processes(cfg)
    assert not groups and 'model_wrapper_cfg' not in cfg


def test_gpus_are_left_to_mmengine(groups, monkeypatch):
    monkeypatch.setattr(cpu, 'get_device', lambda: 'cuda')
    cfg = Config(dict(launcher='slurm'))
    init_cpu_processes(cfg)
    assert not groups and 'model_wrapper_cfg' not in cfg


@pytest.mark.parametrize('launcher', ['slurm', 'mpi'])
def test_other_launchers_need_a_gpu(groups, launcher):
    with pytest.raises(ValueError, match=f'dist_train.sh, got .* {launcher}'):
        init_cpu_processes(Config(dict(launcher=launcher)))


END = """
import atexit, sys, threading, time
import torch.distributed as dist
from mmstepnet.engine import end_process
end_process()
print('goes on without a group')
dist.init_process_group('gloo', init_method='file://' + sys.argv[1],
                        rank=0, world_size=1)
threading.Thread(
    target=lambda: time.sleep(.2) or print('threads end')).start()
atexit.register(print, 'exit handlers run')
end_process()
print('not reached')
"""


def test_a_process_ends_without_the_interpreter(tmp_path):
    done = subprocess.run([sys.executable, '-c', END,
                           str(tmp_path / 'store')],
                          text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'goes on without a group', 'threads end', 'exit handlers run'
    ]
