# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / 'tools'


@pytest.fixture
def fakes(tmp_path):
    """A python and an srun that print their arguments, one a line."""
    script = '#!/bin/sh\nprintf "%s\\n" "$PYTHONPATH" "$@"\n'
    for name in ('python', 'srun'):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run_script(name, *args, cwd, **env):
    return subprocess.run(['bash', TOOLS / name, *map(str, args)],
                          cwd=cwd,
                          env={
                              **os.environ,
                              **env
                          },
                          text=True,
                          capture_output=True)


OPTION = 'model.test_cfg.note=two words'


@pytest.mark.parametrize('name, args, expected', [
    ('dist_train.sh', ['my config.py', 2, '--cfg-options', OPTION], [
        '-m', 'mmstepnet.engine.launch', '2', f'{TOOLS}/train.py',
        'my config.py', '--launcher', 'pytorch', '--cfg-options', OPTION
    ]),
    ('dist_test.sh', ['my config.py', 'a b.pth', 2, '--out', 'my out.pkl'], [
        '-m', 'mmstepnet.engine.launch', '2', f'{TOOLS}/test.py',
        'my config.py', 'a b.pth', '--launcher', 'pytorch', '--out',
        'my out.pkl'
    ]),
    ('slurm_train.sh', ['gpu', 'my job', 'my config.py', 'my work', OPTION], [
        '-p', 'gpu', '--job-name=my job', '--gres=gpu:4', '--ntasks=4',
        '--ntasks-per-node=4', '--cpus-per-task=5', '--kill-on-bad-exit=1',
        '--qos=a', '-x', 'node1', 'python', '-u', f'{TOOLS}/train.py',
        'my config.py', '--work-dir=my work', OPTION, '--launcher=slurm'
    ]),
    ('slurm_test.sh', ['gpu', 'my job', 'my config.py', 'a b.pth', OPTION], [
        '-p', 'gpu', '--job-name=my job', '--gres=gpu:4', '--ntasks=4',
        '--ntasks-per-node=4', '--cpus-per-task=5', '--kill-on-bad-exit=1',
        '--qos=a', '-x', 'node1', 'python', '-u', f'{TOOLS}/test.py',
        'my config.py', 'a b.pth', OPTION, '--launcher=slurm'
    ]),
])
def test_arguments_arrive_whole(fakes, name, args, expected):
    env = dict(os.environ)
    result = run_script(
        name,
        *args,
        cwd=fakes,
        PATH=f'{fakes}:{env["PATH"]}',
        PYTHONPATH='/before',
        PYTHON='python',
        GPUS='4',
        SRUN_ARGS='--qos=a -x node1')
    path, *arguments = result.stdout.splitlines()
    assert path == f'{TOOLS}/..:/before'
    assert arguments == expected


@pytest.mark.parametrize(
    'name',
    ['dist_train.sh', 'dist_test.sh', 'slurm_train.sh', 'slurm_test.sh'])
def test_usage(tmp_path, name):
    missing = run_script(name, 'config.py', cwd=tmp_path)
    assert missing.returncode == 2 and not missing.stdout
    assert missing.stderr.startswith('usage: ')
    for option in ('-h', '--help'):
        asked = run_script(name, option, cwd=tmp_path)
        assert asked.returncode == 0 and not asked.stderr
        assert asked.stdout == missing.stderr


@pytest.mark.slow
@pytest.mark.ddp
@pytest.mark.mmdet
def test_two_processes_train(workspace, monkeypatch):
    """From another directory, with a busy port and spaces everywhere."""
    monkeypatch.delenv('PORT', raising=False)
    with socket.socket() as busy:
        try:
            busy.bind(('', 29500))
            busy.listen()
        except OSError:
            pass  # Then it is busy without our help.
        result = run_script(
            'dist_train.sh',
            'tiny_detector.py',
            2,
            '--work-dir',
            'two processes',
            '--cfg-options',
            'experiment_name=two words',
            cwd=workspace,
            PYTHON=sys.executable,
            CUDA_VISIBLE_DEVICES='-1')
    assert result.returncode == 0, result.stderr
    assert (workspace / 'two processes' / 'epoch_1.pth').is_file()
    log = next((workspace / 'two processes').glob('*/*.log')).read_text()
    assert 'Distributed launcher: pytorch' in log
    assert 'GPU number: 2' in log
    assert "experiment_name = 'two words'" in log
    # 5 images: 2 iterations of 2 processes with 2 images each.
    assert 'Epoch(train) [1][2/2]' in log
    assert 'coco/bbox_mAP' in log
