# Copyright (c) mmstepnet contributors. All rights reserved.
"""A few random images, with boxes and in two classes."""
import json
from pathlib import Path

import cv2
import numpy as np


def write_data(root: Path, number: int = 16) -> None:
    """Write what the configs of this folder read.

    Args:
        root (Path): The folder that trainings run in.
        number (int): Images.
    """
    rng = np.random.default_rng(0)
    images, annotations = [], []
    (root / 'data' / 'images').mkdir(parents=True)
    for i in range(number):
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        folder = root / 'data' / 'classes' / f'class {i % 2}'
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f'{i}.png'), pixels)
        cv2.imwrite(str(root / 'data' / 'images' / f'{i}.png'), pixels)
        images.append(dict(id=i, file_name=f'{i}.png', width=64, height=64))
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
    (root / 'data' / 'scenes.json').write_text(json.dumps(scenes))
