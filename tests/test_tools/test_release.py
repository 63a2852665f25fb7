# Copyright (c) mmstepnet contributors. All rights reserved.
"""What tools/release.sh refuses; a whole release takes minutes."""
import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


@pytest.fixture
def release(tmp_path):
    """Release a small repository with these files, return the message."""
    repo, out = tmp_path / 'repo', tmp_path / 'out'

    def git(*args):
        subprocess.run([
            'git', '-C', repo, '-c', 'user.name=me', '-c',
            'user.email=me@example.org', *args
        ],
                       check=True,
                       capture_output=True)

    def run(changelog='## 0.3.0 (2030-01-01)', cited='0.3.0', uncommitted=''):
        script = (REPO / 'tools' / 'release.sh').read_text()
        files = {
            'mmstepnet/version.py': "__version__ = '0.3.0'",
            'CITATION.cff': f'version: {cited}',
            'CHANGELOG.md': changelog,
            'tools/release.sh': script
        }
        for name, text in files.items():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(text + '\n')
        git('init')
        git('add', '.')
        git('commit', '-m', 'all')
        if uncommitted:
            (repo / uncommitted).write_text('')
        # `false` for Python: past the checks, the build fails at once.
        result = subprocess.run(['bash', repo / 'tools' / 'release.sh', out],
                                env=dict(PATH='/usr/bin:/bin', PYTHON='false'),
                                capture_output=True,
                                text=True)
        assert result.returncode
        return result.stdout + result.stderr

    run.out = out
    return run


@pytest.mark.parametrize(
    'case, message', [
        (dict(uncommitted='new.py'), 'error: there are changes'),
        (dict(changelog='## 0.2.0 (2030-01-01)'),
         "error: .* no section '## 0.3"),
        (dict(changelog='## 0.3.0 (unreleased)'),
         'error: .* no date for 0.3.0'),
        (dict(cited='0.2.0'), 'error: CITATION.cff is not of version 0.3.0'),
    ],
    ids=str)
def test_what_is_not_ready_is_refused(case, message, release):
    printed = release(**case)
    assert re.search(message, printed)
    assert '== build' not in printed
    assert not list(release.out.iterdir())


def test_what_is_ready_is_built(release):
    printed = release()
    assert 'version 0.3.0, commit' in printed and '== build' in printed


def test_files_of_another_release_are_refused(release):
    release.out.mkdir()
    (release.out / 'old.whl').touch()
    assert 'has files of another release' in release()
