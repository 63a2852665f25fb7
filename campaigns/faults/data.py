# Copyright (c) mmstepnet contributors. All rights reserved.
"""A few random images, with boxes and in two classes."""
import json
from pathlib import Path

import cv2
import numpy as np


def write_scenes(root: Path, number: int) -> None:
    """Random images with a box each in COCO format, and in two classes.

    Args:
        root (Path): Folder of the data, which is made.
        number (int): Images.
    """
    rng = np.random.default_rng(0)
    images, annotations = [], []
    (root / 'images').mkdir(parents=True)
    for i in range(number):
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        folder = root / 'classes' / f'class {i % 2}'
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f'{i}.png'), pixels)
        cv2.imwrite(str(root / 'images' / f'{i}.png'), pixels)
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
    (root / 'scenes.json').write_text(json.dumps(scenes))
