# Copyright (c) mmstepnet contributors. All rights reserved.
"""Running the tests on one stack or another, with fakes."""
import os
import subprocess
import sys

import pytest
from fake_checkout import TOOLS


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
