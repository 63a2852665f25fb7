# Copyright (c) mmstepnet contributors. All rights reserved.
"""The shell scripts that install, with fakes of what they call."""
import os
import shutil
import subprocess
import sys
import time

import pytest
from fake_checkout import FAKE_PYTHON, environment


def test_fresh_install(repo, run):
    result = run('quickstart.sh')
    assert result.returncode == 0, result.stderr
    torch, rest, start = result.calls.split('pip -m pip install ')[1:] + [
        result.calls[result.calls.index('run '):]
    ]
    assert 'torch==2.14.1 torchvision==0.29.1\n' in torch
    for release in ('onedl-mmengine==0.10.12', 'onedl-mmcv==2.3.6',
                    'onedl-mmdetection==3.5.1', 'onedl-mmpretrain==1.3.6'):
        assert f'{release} ' in rest
    assert f'-e {repo}\n' in rest
    assert f'run {repo}/tools/quickstart/pipeline.py' in start
    state = repo / '.venv' / '.mmstepnet'
    assert [path.name for path in state.iterdir()] == ['installed']


def test_second_run_installs_nothing(run):
    assert run('quickstart.sh').returncode == 0
    result = run('quickstart.sh')
    assert 'pip install' not in result.calls and 'using' in result.stdout


def test_changed_requirements_are_installed(repo, run):
    run('quickstart.sh')
    (repo / 'requirements' / 'tests.txt').write_text('pytest\nhypothesis\n')
    assert 'pip install' in run('quickstart.sh').calls


def test_tests_need_more_than_the_quickstart(repo, run):
    run('quickstart.sh')
    result = run('run_tests.sh')
    assert f'-e {repo}[tests,docs]' in result.calls
    assert 'pip install' not in run('run_tests.sh').calls


def test_torch_index_is_for_torch_alone(run):
    result = run('quickstart.sh', TORCH_INDEX_URL='https://index/cpu')
    torch, rest = [x for x in result.calls.splitlines() if 'pip install' in x]
    assert torch.endswith('--index-url https://index/cpu')
    assert 'index-url' not in rest


def test_interrupted_install_is_made_anew(repo, run):
    process = subprocess.Popen(['true'])
    process.wait()
    state = repo / '.venv' / '.mmstepnet'
    state.mkdir(parents=True)
    (state / 'installing').write_text(str(process.pid))
    (repo / '.venv' / 'half').touch()
    result = run('quickstart.sh')
    assert result.returncode == 0, result.stderr
    assert 'half installed' in result.stdout
    assert not (repo / '.venv' / 'half').exists()


def test_install_of_another_process_is_left_alone(repo, run):
    state = repo / '.venv' / '.mmstepnet'
    state.mkdir(parents=True)
    (state / 'installing').write_text(str(os.getpid()))
    result = run('quickstart.sh')
    assert result.returncode == 1
    assert f'process {os.getpid()} is installing' in result.stderr
    assert (state / 'installing').exists()


def test_environment_that_is_there_gets_what_it_lacks(repo, run, tmp_path):
    venv = tmp_path / 'mine'
    (venv / 'bin').mkdir(parents=True)
    shutil.copy(tmp_path / 'bin' / 'python3', venv / 'bin' / 'python')
    result = run('quickstart.sh', VENV=str(venv))
    assert result.returncode == 0, result.stderr
    assert [x for x in result.calls.splitlines() if 'pip install' in x
            ] == [f'pip -m pip install --progress-bar off -e {repo}']
    assert not (venv / '.mmstepnet').exists()
    assert not (repo / '.venv').exists()


@pytest.mark.parametrize('env, words', [
    (dict(TOO_OLD='1', PYTHON='python3', VERSION='3.9.2'),
     ('Python 3.10 or newer is needed', 'Python 3.9.2')),
    (dict(NO_VENV='1'), ('python3-venv', 'VENV')),
    (dict(FREE_KB='2000000'), ('about 9 GB', 'has 2 GB')),
    (dict(FREE_KB='2000000', TORCH_INDEX_URL='x'), ('about 3 GB', )),
    (dict(PIP_OUTPUT='WARNING: Retrying: NewConnectionError'),
     ('could not reach the package index', )),
    (dict(PIP_OUTPUT='ERROR: [Errno 28] No space left on device'),
     ('disk is full', )),
    (dict(PIP_OUTPUT='ERROR: No matching distribution'),
     ('No matching distribution', 'install.log')),
])
def test_one_sentence_when_it_can_not_install(run, env, words):
    result = run('quickstart.sh', **env)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith('error: ')
    assert all(word in lines[0] for word in words), lines[0]
    assert 'pipeline.py' not in result.calls


def test_failed_download_goes_on_in_the_same_environment(repo, run):
    run('quickstart.sh', PIP_OUTPUT='NewConnectionError')
    (repo / '.venv' / 'downloaded').touch()
    result = run('quickstart.sh')
    assert result.returncode == 0, result.stderr
    assert 'pip install' in result.calls
    assert (repo / '.venv' / 'downloaded').exists()


def test_quickstart_takes_no_arguments(run):
    result = run('quickstart.sh', '--fast', 'now')
    assert result.returncode == 1
    assert 'got: --fast now' in result.stderr
    assert not result.calls


@pytest.mark.skipif(sys.platform == 'win32', reason='needs signals')
def test_interruption_is_said_and_leaves_its_mark(repo, tmp_path):
    slow = tmp_path / 'bin' / 'python3'
    slow.write_text(
        FAKE_PYTHON.replace('echo "pip $*" >> "$CALLS"',
                            'touch "$CALLS"; sleep 1'))
    calls = tmp_path / 'calls'
    with subprocess.Popen(['bash', repo / 'tools' / 'quickstart.sh'],
                          env=environment(repo),
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          text=True) as process:
        deadline = time.time() + 30
        while not calls.exists() and time.time() < deadline:
            time.sleep(0.05)
        process.terminate()
        stderr = process.communicate(timeout=30)[1]
    assert process.returncode == 1
    assert stderr.startswith('error: interrupted')
    assert (repo / '.venv' / '.mmstepnet' / 'installing').exists()
