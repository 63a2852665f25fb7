# Copyright (c) mmstepnet contributors. All rights reserved.
"""The shell scripts that install, with fakes of what they call."""
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / 'tools'
# Says what it was called with. As `python -m venv DIR` it makes DIR with a
# copy of itself, as `pip` it prints $PIP_OUTPUT and fails on any. A script
# from stdin finds nothing missing and nothing to share.
FAKE_PYTHON = r'''#!/bin/bash
case "$*" in
    *version_info*) exit "${TOO_OLD:-0}" ;;
    --version) echo "Python ${VERSION:-3.11.7}" ;;
    *ensurepip*) exit "${NO_VENV:-0}" ;;
    "-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip"*)
        echo "pip $*" >> "$CALLS"
        [ -z "$PIP_OUTPUT" ] || { echo "$PIP_OUTPUT"; exit 1; } ;;
    "-m pytest"*) printf '%s\n' "$@" >> "$CALLS"; exit "${PYTEST_EXIT:-0}" ;;
    "-m"*) echo "lint $2" >> "$CALLS"; exit "${LINT_EXIT:-0}" ;;
    *import*cv2*) exit 0 ;;
    "- "*venv*) exit 1 ;;
    "- "*) ;;
    *) printf 'run %s\n' "$@" >> "$CALLS" ;;
esac
'''


@pytest.fixture
def repo(tmp_path):
    """A checkout with the scripts, and a fake python at the front of PATH."""
    root = tmp_path / 'my repo'
    (root / 'tools').mkdir(parents=True)
    for name in ('setup_env.sh', 'stacks.sh', 'quickstart.sh', 'run_tests.sh'):
        shutil.copy(TOOLS / name, root / 'tools')
    (root / 'requirements').mkdir()
    (root / 'requirements' / 'tests.txt').write_text('pytest\n')
    (root / 'setup.py').write_text('')
    (tmp_path / 'bin').mkdir()
    fake = tmp_path / 'bin' / 'python3'
    fake.write_text(FAKE_PYTHON)
    fake.chmod(0o755)
    df = tmp_path / 'bin' / 'df'
    df.write_text('#!/bin/sh\necho header\n'
                  'echo disk 1 1 "${FREE_KB:-99000000}" 1% /\n')
    df.chmod(0o755)
    return root


def environment(repo, **env):
    """Variables that have the scripts use the fakes."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in ('VENV', 'PYTHON', 'STACK', 'TORCH_INDEX_URL')
    }
    return {
        **inherited, 'PATH':
        f'{repo.parent / "bin"}{os.pathsep}{os.environ["PATH"]}',
        'CALLS': str(repo.parent / 'calls'),
        **env
    }


@pytest.fixture
def run(repo):
    """Run a script of the checkout; ``calls`` is what the fakes were asked."""
    calls = repo.parent / 'calls'

    def run_script(name, *args, **env):
        calls.write_text('')
        result = subprocess.run(['bash', repo / 'tools' / name, *args],
                                env=environment(repo, **env),
                                cwd=repo.parent,
                                text=True,
                                capture_output=True)
        result.calls = calls.read_text()
        return result

    return run_script


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


def test_arguments_of_pytest_arrive_whole(run):
    result = run('run_tests.sh', '-k', 'two words', '-x')
    assert result.returncode == 0, result.stderr
    assert result.calls.endswith(
        '-m\npytest\n-n\nauto\n--dist\nloadfile\n-k\ntwo words\n-x\n')
    assert result.stdout.splitlines()[-1].startswith('OK: all passed in ')


@pytest.mark.parametrize('args, env, code, last', [
    (('--lint', ), dict(), 0, 'OK: all passed'),
    (('--lint', ), dict(PYTEST_EXIT='1'), 1, 'FAILED: tests,'),
    (('--lint', ), dict(LINT_EXIT='1'), 1, 'FAILED: style,'),
    (('--lint', ), dict(LINT_EXIT='1',
                        PYTEST_EXIT='5'), 1, 'FAILED: tests and style,'),
    ((), dict(LINT_EXIT='1'), 0, 'OK: all passed'),
])
def test_exit_status_of_the_tests(run, args, env, code, last):
    result = run('run_tests.sh', *args, **env)
    assert result.returncode == code
    assert (result.stderr
            if code else result.stdout).splitlines()[-1].startswith(last)
    assert ('lint flake8' in result.calls) == bool(args)


def test_another_stack_has_an_environment_of_its_own(repo, run):
    assert run('run_tests.sh').returncode == 0
    result = run('run_tests.sh', '--stack', 'openmmlab', '-m', 'smoke')
    assert result.returncode == 0, result.stderr
    assert 'mmdet==3.3.0' in result.calls and 'numpy<2' in result.calls
    assert 'onedl' not in result.calls
    assert result.calls.endswith('\nloadfile\n-m\nsmoke\n')
    assert {path.name
            for path in repo.glob('.venv*')} == {'.venv', '.venv-openmmlab'}
    assert 'pip install' not in run('run_tests.sh').calls


@pytest.mark.parametrize('args, env, words', [
    (('--stack', 'oldest'), dict(), ("no stack 'oldest'", 'onedl-oldest')),
    (('--stack', ), dict(), ("no stack ''", 'openmmlab')),
    (('--stack=onedl-oldest', ), dict(TOO_OLD='1', PYTHON='python3'),
     ('Python 3.10 is needed', 'Python 3.11.7')),
])
def test_impossible_stacks(run, args, env, words):
    result = run('run_tests.sh', *args, **env)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), lines
    assert 'pip' not in result.calls and 'pytest' not in result.calls


def bash(repo, script, **env):
    return subprocess.run(['bash', '-c', f'. tools/setup_env.sh; {script}'],
                          cwd=repo,
                          env={
                              'PATH': os.environ['PATH'],
                              'TORCH_INDEX_URL': '',
                              **env
                          },
                          text=True,
                          capture_output=True)


def test_the_claim_is_the_oldest_stack(repo):
    result = bash(
        repo, 'for s in $STACKS; do choose_stack $s; '
        'echo $s ${TORCH_PINS[*]#*:} ${PINS[*]#*:}; done')
    assert result.returncode == 0, result.stderr
    stacks = [line.split() for line in result.stdout.splitlines()]
    assert len(stacks) > 3 and stacks[0][0] == 'onedl'
    torch = [
        tuple(map(int, stack[1].replace('torch==', '').split('.')))
        for stack in stacks
    ]
    claim = (TOOLS.parent / 'requirements' / 'runtime.txt').read_text()
    assert 'torch>={}.{}\n'.format(*min(torch)) in claim
    extra = (TOOLS.parent / 'requirements' / 'openmmlab.txt').read_text()
    for stack in stacks:
        if stack[0].startswith('openmmlab'):
            assert set(extra.split()) & set(stack) >= {
                'mmcv-lite==2.1.0', 'mmdet==3.3.0', 'mmengine==0.10.7',
                'mmpretrain==1.2.0', 'numpy<2', 'setuptools<81'
            }


def distribution(site, name, version):
    (site / name).mkdir()
    (site / name / '__init__.py').write_text(f'version = {version!r}')
    info = site / f'{name}-{version}.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(f'Name: {name.replace("_", "-")}\n'
                                   f'Version: {version}\n')
    (info / 'RECORD').write_text(f'{name}/__init__.py,,\n'
                                 f'{info.name}/METADATA,,\n'
                                 f'{info.name}/RECORD,,\n'
                                 f'../../../bin/{name},,\n')


@pytest.mark.skipif(sys.platform == 'win32', reason='needs bash')
def test_packages_are_shared_with_the_default_environment(repo):
    subprocess.run(
        [sys.executable, '-m', 'venv', '--without-pip', repo / '.venv'],
        check=True)
    site, = (repo / '.venv').glob('lib/python*/site-packages')
    distribution(site, 'torch', '2.14.1+cpu')
    distribution(site, 'onedl_mmcv', '2.3.6')
    assert bash(repo, 'link_venv', STACK='openmmlab').returncode == 1
    distribution(site, 'torchvision', '0.29.1')
    assert bash(repo, 'link_venv', STACK='onedl-oldest').returncode == 1
    assert not list(repo.glob('.venv-*'))
    result = bash(
        repo, 'link_venv && "$ENV_PYTHON" -c "import torch, torchvision; '
        'from importlib.util import find_spec as find; '
        'print(torch.version, find(\'onedl_mmcv\'))"',
        STACK='openmmlab')
    assert result.stdout.splitlines()[-1] == '2.14.1+cpu None', result.stderr
    shared, = (repo / '.venv-openmmlab').glob('lib/*/site-packages/torch/*.py')
    assert shared.samefile(site / 'torch' / '__init__.py')
    assert not (repo / '.venv-openmmlab' / 'bin' / 'torch').exists()


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
