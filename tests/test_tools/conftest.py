# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

REPO = Path(__file__).parents[2]
TINY_DETECTOR = Path(__file__).with_name('tiny_detector.py')


def write_scenes(root: Path, num: int = 5) -> None:
    """Random images with a box each, in COCO format."""
    rng = np.random.default_rng(0)
    (root / 'images').mkdir(parents=True)
    images, annotations = [], []
    for i in range(num):
        name = f'{i}.png'
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        cv2.imwrite(str(root / 'images' / name), pixels)
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


@pytest.fixture
def workspace(tmp_path):
    """A folder with spaces in its name and a small data set in it."""
    root = tmp_path / 'my work'
    write_scenes(root / 'data')
    return root


def run_command(*command, cwd, **env):
    """Run a command with the checkout importable; never raises."""
    env = {
        **os.environ, 'PYTHONPATH': str(REPO),
        'PYTHON': sys.executable,
        'CUDA_VISIBLE_DEVICES': '-1',
        **env
    }
    return subprocess.run([str(part) for part in command],
                          cwd=cwd,
                          env=env,
                          text=True,
                          capture_output=True,
                          timeout=240)


@pytest.fixture
def run_tool(workspace):
    """Run a tool in the workspace: ``run_tool('train.py', *args)``."""

    def run(name, *args, **env):
        tool = REPO / 'tools' / name
        prefix = [sys.executable] if tool.suffix == '.py' else ['bash']
        return run_command(*prefix, tool, *args, cwd=workspace, **env)

    return run
