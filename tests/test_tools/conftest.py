# Copyright (c) mmstepnet contributors. All rights reserved.
import importlib.util
import json
import shutil
import sys
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from mmengine.visualization import Visualizer

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / 'tools'


def write_scenes(root: Path, num: int = 5) -> None:
    """Random images with a box each in COCO format, and in two classes."""
    rng = np.random.default_rng(0)
    images, annotations = [], []
    (root / 'images').mkdir(parents=True)
    for i in range(num):
        name = f'{i}.png'
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        cv2.imwrite(str(root / 'images' / name), pixels)
        folder = root / 'classes' / f'class {i % 2}'
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / 'images' / name, folder)
        images.append(dict(id=i, file_name=name, width=64, height=64))
        annotations.append(
            dict(
                id=i + 1,
                image_id=i,
                category_id=1 + i % 2,
                bbox=[8, 8, 30, 30],
                area=900,
                iscrowd=0))
    categories = [dict(id=1, name='square'), dict(id=2, name='bar')]
    scenes = dict(
        images=images, annotations=annotations, categories=categories)
    (root / 'scenes.json').write_text(json.dumps(scenes))


@pytest.fixture(scope='session')
def workspace(tmp_path_factory):
    """A folder with a space in its name, with data and configs."""
    root = tmp_path_factory.mktemp('tools') / 'my work'
    write_scenes(root / 'data')
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
