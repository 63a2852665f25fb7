# Copyright (c) mmstepnet contributors. All rights reserved.
"""A checkout whose scripts call fakes of python, pip and df."""
import os
import shutil
import subprocess
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


@pytest.fixture(name='run')
def run_there(repo):
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
