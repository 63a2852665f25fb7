# Copyright (c) mmstepnet contributors. All rights reserved.
"""Compose detection scenes from scikit-learn's handwritten digits.

The 1,797 digits are split into training and held-out ones first, so no digit
picture is in both splits. The result is a COCO data set of scenes and a folder
of single digits for classification, the same bytes for the same arguments.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import cv2
import numpy as np

#: Digits of a scene, and their height as a share of the scene's size.
COUNTS = (2, 6)
HEIGHTS = (0.14, 0.36)
#: The same for the pictures of one digit.
CROP_HEIGHTS = (0.5, 0.9)
#: Least difference in brightness between ink and paper, of 255.
MIN_CONTRAST = 50
MAX_OVERLAP = 0.05
VAL_SHARE = 0.2


class Digits(NamedTuple):
    """Handwritten digits: ``images`` (N, 8, 8) in [0, 1], labels, indices."""
    images: np.ndarray
    labels: np.ndarray
    indices: np.ndarray

    def select(self, rows: np.ndarray) -> 'Digits':
        """The digits of these rows."""
        return Digits(*(field[rows] for field in self))


class Scene(NamedTuple):
    """A picture, and one entry per digit in the other fields.

    ``image`` is (size, size, 3) uint8, a box (x, y, w, h) in pixels, an ink
    the digit's opacity over the whole picture, and a row its place in
    :class:`Digits`.
    """
    image: np.ndarray
    boxes: List[Tuple[int, int, int, int]]
    inks: List[np.ndarray]
    rows: List[int]


def load_digits() -> Digits:
    """The handwritten digits that ship with scikit-learn."""
    from sklearn.datasets import load_digits as load
    data = load()
    return Digits(
        data.images.astype(np.float32) / 16, data.target,
        np.arange(len(data.target)))


def split_digits(digits: Digits,
                 rng: np.random.Generator) -> Dict[str, Digits]:
    """Training and held-out digits, with the same share of every class."""
    train, val = [], []
    for label in np.unique(digits.labels):
        rows = rng.permutation(np.flatnonzero(digits.labels == label))
        num_val = round(len(rows) * VAL_SHARE)
        val.extend(rows[:num_val])
        train.extend(rows[num_val:])
    return dict(
        train=digits.select(np.sort(train)), val=digits.select(np.sort(val)))


def cycle_rows(num: int, rng: np.random.Generator) -> Iterator[int]:
    """Endless rows in random order, each as often as any other."""
    while True:
        yield from rng.permutation(num).tolist()


def draw_ink(image: np.ndarray, height: float,
             rng: np.random.Generator) -> np.ndarray:
    """A digit's opacity at about this height, cropped to its ink."""
    scale = height / 8
    angle = np.deg2rad(rng.uniform(-12, 12))
    stretch = rng.uniform(0.85, 1.2)
    shear = np.array([[np.cos(angle) * stretch, -np.sin(angle)],
                      [np.sin(angle) * stretch,
                       np.cos(angle)]]) * scale
    side = int(np.ceil(height * 2))
    shift = side / 2 - shear @ np.full(2, 3.5)
    ink = cv2.warpAffine(
        image,
        np.hstack([shear, shift[:, None]]), (side, side),
        flags=cv2.INTER_CUBIC)
    ink = np.clip((ink - 0.25) / 0.3, 0, 1)
    ink[ink < 0.1] = 0
    rows, cols = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    return ink[rows[0]:rows[-1] + 1, cols[0]:cols[-1] + 1]


def draw_paper(size: int, rng: np.random.Generator) -> np.ndarray:
    """A background of soft colours, faint lines and grain."""
    base = rng.uniform(30, 225, 3)
    soft = rng.normal(0, rng.uniform(5, 25), (4, 4, 3)) + base
    paper = cv2.resize(soft, (size, size), interpolation=cv2.INTER_CUBIC)
    for _ in range(rng.integers(0, 4)):
        ends = rng.integers(0, size, (2, 2)).tolist()
        colour = (base + rng.normal(0, 20, 3)).tolist()
        cv2.line(paper, ends[0], ends[1], colour, int(rng.integers(1, 4)))
    return paper + rng.normal(0, rng.uniform(0, 8), paper.shape)


def draw_colour(paper: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An ink colour that stands out against this patch of paper."""
    brightness = paper.mean()
    while True:
        colour = rng.uniform(0, 255, 3)
        if abs(colour.mean() - brightness) >= MIN_CONTRAST:
            return colour


def overlap(box: Sequence[int], other: Sequence[int]) -> float:
    """Intersection of two boxes (x, y, w, h), as a share of the smaller."""
    sides = [
        min(box[i] + box[i + 2], other[i] + other[i + 2]) -
        max(box[i], other[i]) for i in range(2)
    ]
    smaller = min(box[2] * box[3], other[2] * other[3])
    return max(sides[0], 0) * max(sides[1], 0) / smaller


def compose(digits: Digits, rows: Iterator[int], size: int, count: int,
            heights: Tuple[float, float], rng: np.random.Generator) -> Scene:
    """A scene of up to ``count`` digits, as many as find a free place."""
    paper = draw_paper(size, rng)
    scene = Scene(paper, [], [], [])
    for _ in range(count):
        row = next(rows)
        ink = draw_ink(digits.images[row], size * rng.uniform(*heights), rng)
        ink = ink[:size, :size]
        height, width = ink.shape
        for _ in range(20):
            x = int(rng.integers(0, size - width + 1))
            y = int(rng.integers(0, size - height + 1))
            box = (x, y, width, height)
            if all(overlap(box, b) <= MAX_OVERLAP for b in scene.boxes):
                break
        else:
            continue
        patch = paper[y:y + height, x:x + width]
        colour = draw_colour(patch, rng)
        patch += (colour - patch) * ink[..., None]
        layer = np.zeros((size, size), np.float32)
        layer[y:y + height, x:x + width] = ink
        scene.boxes.append(box)
        scene.inks.append(layer)
        scene.rows.append(row)
    return scene._replace(image=np.clip(paper, 0, 255).astype(np.uint8))


def write_image(path: Path, image: np.ndarray) -> None:
    """Save a picture, or say that it couldn't be."""
    if not cv2.imwrite(str(path), image):
        raise OSError(f'could not write {path}')


def write_scenes(out_dir: Path, split: str, digits: Digits, num: int,
                 size: int, rng: np.random.Generator) -> None:
    """Write ``num`` scenes and their COCO annotations."""
    (out_dir / split).mkdir()
    images: List[dict] = []
    annotations: List[dict] = []
    rows = cycle_rows(len(digits.labels), rng)
    for i in range(num):
        count = int(rng.integers(COUNTS[0], COUNTS[1] + 1))
        scene = compose(digits, rows, size, count, HEIGHTS, rng)
        name = f'{i:06d}.png'
        write_image(out_dir / split / name, scene.image)
        images.append(dict(id=i, file_name=name, width=size, height=size))
        for box, row in zip(scene.boxes, scene.rows):
            annotations.append(
                dict(
                    id=len(annotations) + 1,
                    image_id=i,
                    category_id=int(digits.labels[row]),
                    bbox=list(box),
                    area=box[2] * box[3],
                    iscrowd=0,
                    digit=int(digits.indices[row])))
    categories = [dict(id=i, name=str(i)) for i in range(10)]
    (out_dir / 'annotations').mkdir(exist_ok=True)
    (out_dir / 'annotations' / f'{split}.json').write_text(
        json.dumps(
            dict(
                images=images, annotations=annotations,
                categories=categories)))


def write_crops(out_dir: Path, split: str, digits: Digits, copies: int,
                size: int, rng: np.random.Generator) -> None:
    """Write ``copies`` pictures of each digit, one folder a class."""
    for label in range(10):
        (out_dir / 'crops' / split / str(label)).mkdir(parents=True)
    for row in range(len(digits.labels)):
        for copy in range(copies):
            scene = compose(digits, iter([row]), size, 1, CROP_HEIGHTS, rng)
            name = f'{digits.indices[row]:04d}_{copy}.png'
            write_image(
                out_dir / 'crops' / split / str(digits.labels[row]) / name,
                scene.image)


def build(out_dir: Path, settings: dict) -> None:
    """Write both data sets to an empty folder."""
    streams = iter(
        np.random.default_rng(s)
        for s in np.random.SeedSequence(settings['seed']).spawn(5))
    splits = split_digits(load_digits(), next(streams))
    for split, digits in splits.items():
        write_scenes(out_dir, split, digits, settings[f'num_{split}'],
                     settings['size'], next(streams))
        write_crops(out_dir, split, digits,
                    settings['copies'] if split == 'train' else 1,
                    settings['crop_size'], next(streams))
    (out_dir / 'settings.json').write_text(json.dumps(settings))


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--out-dir', type=Path, default=Path('data/digits'))
    parser.add_argument('--num-train', type=int, default=800, help='scenes')
    parser.add_argument('--num-val', type=int, default=100, help='scenes')
    parser.add_argument('--size', type=int, default=160, help='of a scene')
    parser.add_argument(
        '--copies', type=int, default=4, help='crops of a training digit')
    parser.add_argument('--crop-size', type=int, default=48)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    for name, value in vars(args).items():
        least = 0 if name == 'seed' else 16 if name.endswith('size') else 1
        if name != 'out_dir' and value < least:
            parser.error(f'--{name.replace("_", "-")} must be at least '
                         f'{least}, got {value}')
    return args


def main() -> None:
    """Build the data sets unless they are there already."""
    settings = vars(parse_args())
    out_dir = settings.pop('out_dir')
    if out_dir.exists():
        try:
            there = json.loads((out_dir / 'settings.json').read_text())
        except (OSError, ValueError):
            there = None
        if there == settings:
            print(f'{out_dir} is there already')
            return
        sys.exit(f'{out_dir} holds something else (expected settings '
                 f'{settings}, got {there}): remove it or choose another '
                 '--out-dir')
    partial = out_dir.with_name(out_dir.name + '.partial')
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    build(partial, settings)
    partial.rename(out_dir)
    print(f'wrote {settings["num_train"]} training and '
          f'{settings["num_val"]} held-out scenes to {out_dir}')


if __name__ == '__main__':
    main()
