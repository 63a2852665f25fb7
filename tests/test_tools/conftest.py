# Copyright (c) mmstepnet contributors. All rights reserved.
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_checkout import repo, run_there  # noqa: F401

from campaigns.faults.data import write_scenes
from campaigns.inputs.harness import fresh, load_tool

HERE = Path(__file__).parent


@pytest.fixture(scope='session')
def workspace(tmp_path_factory):
    """A folder with a space in its name, with data and configs."""
    root = tmp_path_factory.mktemp('tools') / 'my work'
    write_scenes(root / 'data', 5)
    for config in ('tiny_detector.py', 'tiny_classifier.py'):
        shutil.copy(HERE / config, root)
    return root


@pytest.fixture(scope='session')
def run_tool(workspace):
    """Run a tool in this process, in the workspace.

    ``run_tool('train', *args)`` returns ``code``, the exit status or the
    message that the tool ended with.
    """

    def run(name, *args):
        with fresh(workspace, [f'{name}.py', *map(str, args)]):
            try:
                load_tool(name).main()
            except SystemExit as error:
                return SimpleNamespace(code=error.code)
            return SimpleNamespace(code=0)

    return run


@pytest.fixture(scope='session')
def trained_detector(workspace, run_tool):
    """Work dir of a tiny detector, trained for an epoch."""
    pytest.importorskip('mmdet')
    work_dir = workspace / 'a detector'
    result = run_tool('train', 'tiny_detector.py', '--work-dir', work_dir)
    assert result.code == 0, result.code
    return work_dir


@pytest.fixture(scope='session')
def trained_classifier(workspace, run_tool):
    """Work dir of a tiny classifier, trained for an epoch."""
    pytest.importorskip('mmpretrain')
    work_dir = workspace / 'a classifier'
    result = run_tool('train', 'tiny_classifier.py', '--work-dir', work_dir,
                      '--auto-scale-lr')
    assert result.code == 0, result.code
    return work_dir
