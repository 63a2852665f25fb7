# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tests of the configs for other projects share."""
import json
from importlib import import_module
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.runner import Runner

from mmstepnet.compat import find_mmseg_configs

CONFIGS = Path(__file__).parents[2] / 'configs' / 'projects'
THIN = dict(
    base_channels=8,
    stem_channels=8,
    init_cfg=None,
)


def require(project):
    """Skip a module of tests where a project can't be used."""
    try:
        return import_module(project)
    except (ImportError, AssertionError) as error:
        # a project refuses releases that it doesn't know by an assert
        pytest.skip(f'no {project}: {error}', allow_module_level=True)


def load(name, work_dir, **options):
    """A config that trains a thin network without workers.

    Options are given as ``--cfg-options`` does, with ``__`` for a dot.
    """
    find_mmseg_configs()
    cfg = Config.fromfile(CONFIGS / name)
    cfg.work_dir = str(work_dir)
    cfg.model.backbone.update(THIN)
    for split in ('train', 'val'):
        cfg.merge_from_dict({
            f'{split}_dataloader.batch_size': 2,
            f'{split}_dataloader.num_workers': 0,
            f'{split}_dataloader.persistent_workers': False,
        })
    # a warm-up would leave so few iterations without effect
    cfg.param_scheduler = None
    cfg.test_dataloader = cfg.test_evaluator = cfg.test_cfg = None
    cfg.merge_from_dict({k.replace('__', '.'): v for k, v in options.items()})
    return cfg


def write_images(folder, number, suffix, size=(64, 64)):
    """Images of noise; the names without suffix."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    names = [f'image{i}' for i in range(number)]
    for name in names:
        pixels = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
        assert cv2.imwrite(str(folder / f'{name}{suffix}'), pixels)
    return names


def write_coco(path, names, category, **annotation):
    """A COCO file with one object of 40 pixels in each image of 64."""
    images = [
        dict(id=i, file_name=f'{name}.jpg', width=64, height=64)
        for i, name in enumerate(names)
    ]
    annotations = [
        dict(
            id=i + 1,
            image_id=i,
            category_id=1,
            bbox=[8 + i, 8, 40, 40],
            area=1600,
            iscrowd=0,
            **annotation) for i in range(len(names))
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        json.dumps(
            dict(
                images=images,
                annotations=annotations,
                categories=[dict(id=1, name=category)])))


def start(cfg):
    """The runner, and copies of the parameters of its steps."""
    torch.manual_seed(0)
    runner = Runner.from_cfg(cfg)
    runner.model.init_weights()
    before = {
        name: [p.detach().clone() for p in block.step.parameters()]
        for name, block in named_steps(runner)
    }
    assert len(before) == 12  # those of ResNet-50 but 4 that change the shape
    return runner, before


def named_steps(runner):
    return [(name, block)
            for name, block in runner.model.backbone.named_modules()
            if hasattr(block, 'step') and list(block.step.parameters())]


def check_training(runner, before, iterations):
    """Finite losses, and steps that have moved."""
    losses = runner.message_hub.get_scalar('train/loss').data[0]
    assert len(losses) == iterations
    assert np.isfinite(losses).all()
    for name, block in named_steps(runner):
        assert any(
            not torch.equal(now, then)
            for now, then in zip(block.step.parameters(), before[name])), name


def measured(cfg):
    """What the hook has written about its one validation."""
    lines = (Path(cfg.work_dir) / 'tns.jsonl').read_text().splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])
