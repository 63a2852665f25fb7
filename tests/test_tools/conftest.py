# Copyright (c) mmstepnet contributors. All rights reserved.
import importlib.util
import shutil
import sys
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_checkout import repo, run_there  # noqa: F401
from mmengine.visualization import Visualizer

from campaigns.faults.data import write_scenes

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / 'tools'


@pytest.fixture(scope='session')
def workspace(tmp_path_factory):
    """A folder with a space in its name, with data and configs."""
    root = tmp_path_factory.mktemp('tools') / 'my work'
    write_scenes(root / 'data', 5)
    for config in ('tiny_detector.py', 'tiny_classifier.py'):
        shutil.copy(HERE / config, root)
    return root


@lru_cache(maxsize=None)
def load_tool(name: str):
    spec = importlib.util.spec_from_file_location(f'tools_{name}',
                                                  TOOLS / f'{name}.py')
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.fixture(scope='session')
def run_tool(workspace):
    """Run a tool in this process, in the workspace.

    ``run_tool('train', *args)`` returns ``code``, the exit status or the
    message that the tool ended with.
    """

    def run(name, *args):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(workspace)
            patch.setattr(sys, 'argv', [f'{name}.py', *map(str, args)])
            patch.setenv('LOCAL_RANK', '0')
            # One run of a process would paint with the visualizer of another.
            patch.setattr(Visualizer, '_instance_dict', OrderedDict())
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
