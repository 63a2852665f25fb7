# Copyright (c) mmstepnet contributors. All rights reserved.
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
