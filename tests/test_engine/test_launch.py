# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import (ChildFailedError,
                                                              ProcessFailure)

from mmstepnet.engine import launch

REPO = Path(__file__).parents[2]


@pytest.fixture
def torchrun(monkeypatch):
    """What torchrun would have been started with."""
    calls = []
    monkeypatch.setattr(launch, 'run', calls.append)
    for name in ('NNODES', 'NODE_RANK', 'MASTER_ADDR', 'PORT',
                 'OMP_NUM_THREADS'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch.torch.cuda, 'device_count', lambda: 0)
    monkeypatch.setattr(os, 'environ', dict(os.environ))
    return calls


def test_one_node_takes_a_free_port(torchrun):
    launch.main(['2', 'train.py', 'a.py', '--work-dir', 'my work'])
    args = torchrun[0]
    assert args.standalone and args.nproc_per_node == '2'
    assert args.training_script == 'train.py'
    assert args.training_script_args == ['a.py', '--work-dir', 'my work']


def test_several_nodes(torchrun):
    os.environ.update(
        NNODES='3', NODE_RANK='1', MASTER_ADDR='10.0.0.1', PORT='29555')
    launch.main(['8', 'train.py'])
    args = torchrun[0]
    assert not args.standalone
    assert (args.nnodes, args.node_rank) == ('3', 1)
    assert (args.master_addr, args.master_port) == ('10.0.0.1', 29555)


def test_a_port_that_is_asked_for_is_taken(torchrun):
    os.environ['PORT'] = '29555'
    launch.main(['8', 'train.py'])
    assert torchrun[0].master_port == 29555


@pytest.mark.parametrize('number', ['two', '0', '-1', '1.5', ''])
def test_no_number_of_processes(torchrun, number):
    with pytest.raises(SystemExit, match='a number of GPUs .* got'):
        launch.main([number, 'train.py'])
    assert not torchrun


def test_more_gpus_than_there_are(torchrun, monkeypatch):
    monkeypatch.setattr(launch.torch.cuda, 'device_count', lambda: 2)
    with pytest.raises(SystemExit, match='8 GPUs asked for.* sees 2'):
        launch.main(['8', 'train.py'])
    launch.main(['2', 'train.py'])
    assert len(torchrun) == 1


def test_cpu_processes_share_the_cores(torchrun, monkeypatch):
    monkeypatch.setattr(
        os, 'sched_getaffinity', lambda pid: set(range(8)), raising=False)
    launch.main(['3', 'train.py'])
    assert os.environ['OMP_NUM_THREADS'] == '2'
    os.environ['OMP_NUM_THREADS'] = '5'
    launch.main(['3', 'train.py'])
    assert os.environ['OMP_NUM_THREADS'] == '5'
    assert launch.cpu_threads(100) == {'OMP_NUM_THREADS': '1'}


def test_gpu_processes_are_left_to_torchrun(torchrun, monkeypatch):
    monkeypatch.setattr(launch.torch.cuda, 'device_count', lambda: 2)
    launch.main(['2', 'train.py'])
    assert 'OMP_NUM_THREADS' not in os.environ


def test_a_failing_process_ends_the_launcher_quietly(torchrun, monkeypatch):

    def fail(args):
        failure = ProcessFailure(0, 1, 1, 'no file')
        raise ChildFailedError('train.py', {0: failure})

    monkeypatch.setattr(launch, 'run', fail)
    with pytest.raises(SystemExit) as error:
        launch.main(['2', 'train.py'])
    assert error.value.code == 1


def failures(**codes):
    return ChildFailedError(
        'train.py', {
            int(name[-1]): ProcessFailure(int(name[-1]), 1, code, 'no file')
            for name, code in codes.items()
        })


@pytest.mark.parametrize('codes, expected', [
    (dict(rank_0=-15, rank_1=-9), 'error: process 1 .* SIGKILL, .* memory; '),
    (dict(rank_0=-6, rank_1=-15), 'error: process 0 .* SIGABRT; '),
    (dict(rank_0=-15, rank_1=143), '143'),
    (dict(rank_0=1), '1'),
])
def test_how_the_launcher_ends(torchrun, codes, expected):
    assert re.match(expected, str(launch.exit_status(failures(**codes))))


@pytest.mark.parametrize('name, status', [('SIGTERM', 143), ('SIGUSR1', 138)])
def test_a_signal_for_the_launcher(torchrun, monkeypatch, name, status):
    # torchrun listens to SIGTERM itself, and raises the same
    before = signal.getsignal(signal.SIGUSR1)

    def get_signal(args):
        if name == 'SIGTERM':
            raise SignalException('', signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR1)

    monkeypatch.setattr(launch, 'run', get_signal)
    try:
        with pytest.raises(SystemExit) as end:
            launch.main(['2', 'train.py'])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert end.value.code == status


@pytest.mark.slow
@pytest.mark.ddp
def test_a_killed_process_ends_the_run(tmp_path):
    script = tmp_path / 'script.py'
    script.write_text('import os, signal, time\n'
                      'if os.environ["RANK"] == "1":\n'
                      '    os.kill(os.getpid(), signal.SIGKILL)\n'
                      'time.sleep(100)')
    result = subprocess.run(
        [sys.executable, '-m', 'mmstepnet.engine.launch', '2', script],
        cwd=REPO,
        text=True,
        capture_output=True,
        timeout=90)
    assert result.returncode == 1
    # MMEngine's warning when it is imported, and the line of its code
    said = re.sub(r'.*zero_optimizer\.py:\d+: DeprecationWarning.*\n.*\n', '',
                  result.stderr)
    assert said.startswith('error: process 1 of the run was ended by SIGKILL')
    assert len(said.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.ddp
def test_two_nodes_meet(tmp_path):
    script = tmp_path / 'script.py'
    script.write_text('import os\nprint(os.environ["RANK"], "of", '
                      'os.environ["WORLD_SIZE"])')

    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = str(probe.getsockname()[1])
    nodes = [
        subprocess.Popen(
            [sys.executable, '-m', 'mmstepnet.engine.launch', '1', script],
            env={
                **os.environ, 'PYTHONPATH': str(REPO),
                'NNODES': '2',
                'NODE_RANK': str(rank),
                'PORT': port
            },
            stdout=subprocess.PIPE,
            text=True) for rank in range(2)
    ]
    outputs = [node.communicate(timeout=120)[0] for node in nodes]
    assert [output.split() for output in outputs] == [['0', 'of', '2'],
                                                      ['1', 'of', '2']]
