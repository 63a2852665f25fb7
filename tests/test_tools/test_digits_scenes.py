# Copyright (c) mmstepnet contributors. All rights reserved.
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

SCRIPT = (
    Path(__file__).parents[2] / 'tools' / 'dataset_converters' /
    'digits_scenes.py')
NUM_DIGITS = 1797
ARGS = ('--num-train', '30', '--num-val', '10', '--copies', '1')


@pytest.fixture(scope='module')
def tool():
    spec = importlib.util.spec_from_file_location('digits_scenes', SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def run(tool):
    """Run the tool in this process on every tenth digit."""
    digits = tool.load_digits().select(np.arange(0, NUM_DIGITS, 10))

    def run_tool(out_dir, *args):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tool, 'load_digits', lambda: digits)
            patch.setattr(sys, 'argv',
                          [str(SCRIPT), '--out-dir',
                           str(out_dir), *args])
            tool.main()

    return run_tool


@pytest.fixture(scope='module')
def out_dir(tmp_path_factory, run):
    path = tmp_path_factory.mktemp('digits') / 'some data'
    run(path, *ARGS)
    return path


def annotations(out_dir, split):
    path = out_dir / 'annotations' / f'{split}.json'
    return json.loads(path.read_text())


def hashes(root):
    return {
        str(path.relative_to(root)):
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob('*') if path.is_file()
    }


def test_same_bytes_for_the_same_arguments(out_dir, tmp_path, run):
    run(tmp_path / 'again', *ARGS)
    again = hashes(tmp_path / 'again')
    assert len(again) == 30 + 10 + 180 + 3
    assert again == hashes(out_dir)


def test_no_digit_is_in_both_splits(out_dir):
    used = {}
    for split in ('train', 'val'):
        scenes = annotations(out_dir, split)['annotations']
        crops = (out_dir / 'crops' / split).rglob('*.png')
        used[split] = {item['digit'] for item in scenes}
        used[split] |= {int(path.stem.split('_')[0]) for path in crops}
    assert not used['train'] & used['val']
    assert len(used['train'] | used['val']) == 180


def test_no_picture_is_in_both_splits(tool):
    digits = tool.load_digits()
    splits = tool.split_digits(digits, np.random.default_rng(0))
    pixels = {
        name: {image.tobytes()
               for image in split.images}
        for name, split in splits.items()
    }
    assert not pixels['train'] & pixels['val']
    shares = np.bincount(splits['val'].labels) / np.bincount(digits.labels)
    assert np.abs(shares - 0.2).max() < 0.01


def test_crops_lie_in_the_folder_of_their_class(out_dir, tool):
    labels = tool.load_digits().labels
    for split, num in (('train', 144), ('val', 36)):
        paths = list((out_dir / 'crops' / split).rglob('*.png'))
        assert abs(len(paths) - num) <= 5
        for path in paths:
            index = int(path.stem.split('_')[0])
            assert int(path.parent.name) == labels[index]


@pytest.mark.parametrize('split, num', [('train', 30), ('val', 10)])
def test_coco_format(out_dir, split, num, capsys):
    from pycocotools.coco import COCO
    coco = COCO(str(out_dir / 'annotations' / f'{split}.json'))
    assert len(coco.getImgIds()) == num
    assert sorted(coco.getCatIds()) == list(range(10))
    ids = [item['id'] for item in coco.dataset['annotations']]
    assert len(set(ids)) == len(ids) > num and min(ids) > 0
    for image in coco.dataset['images']:
        pixels = cv2.imread(str(out_dir / split / image['file_name']))
        assert pixels.shape == (image['height'], image['width'], 3)
        items = coco.loadAnns(coco.getAnnIds(imgIds=image['id']))
        assert items
        for item in items:
            x, y, w, h = item['bbox']
            assert x >= 0 and y >= 0 and w > 0 and h > 0
            assert x + w <= image['width'] and y + h <= image['height']
            assert item['area'] == w * h


def test_labels_are_those_of_the_digits(out_dir, tool):
    labels = tool.load_digits().labels
    for item in annotations(out_dir, 'val')['annotations']:
        assert item['category_id'] == labels[item['digit']]


def scenes(tool, num, size=96):
    digits = tool.load_digits()
    rng = np.random.default_rng(1)
    rows = tool.cycle_rows(len(digits.labels), rng)
    for _ in range(num):
        yield tool.compose(digits, rows, size, 5, (0.14, 0.36), rng)


def test_boxes_are_tight_around_the_ink(tool):
    for scene in scenes(tool, 20):
        assert len(scene.boxes) == len(scene.inks) == len(scene.rows)
        for (x, y, w, h), ink in zip(scene.boxes, scene.inks):
            rows, cols = np.nonzero(ink)
            assert (rows.min(), rows.max() + 1) == (y, y + h)
            assert (cols.min(), cols.max() + 1) == (x, x + w)


def test_ink_stands_out_and_digits_keep_apart(tool):
    for scene in scenes(tool, 20):
        for i, (box, ink) in enumerate(zip(scene.boxes, scene.inks)):
            x, y, w, h = box
            patch = scene.image[y:y + h, x:x + w].astype(float).mean(2)
            mask = ink[y:y + h, x:x + w]
            contrast = patch[mask == 1].mean() - patch[mask == 0].mean()
            assert abs(contrast) > 20
            for other in scene.boxes[:i]:
                assert tool.overlap(box, other) <= tool.MAX_OVERLAP


def test_overlap_by_hand(tool):
    assert tool.overlap((0, 0, 4, 4), (2, 2, 2, 8)) == 4 / 16
    assert tool.overlap((0, 0, 4, 4), (4, 0, 4, 4)) == 0


def test_every_digit_is_used_equally_often(tool):
    rows = tool.cycle_rows(7, np.random.default_rng(0))
    assert set(np.bincount([next(rows) for _ in range(21)])) == {3}


def test_a_second_run_reuses_what_is_there(out_dir, run, capsys):
    before = (out_dir / 'settings.json').stat().st_mtime_ns
    run(out_dir, *ARGS)
    assert 'is there already' in capsys.readouterr().out
    assert (out_dir / 'settings.json').stat().st_mtime_ns == before


def test_other_content_is_kept_and_named(tmp_path, run):
    (tmp_path / 'mine.txt').write_text('precious')
    with pytest.raises(SystemExit, match='holds something else'):
        run(tmp_path, *ARGS)
    assert (tmp_path / 'mine.txt').read_text() == 'precious'


def test_an_interrupted_run_is_no_dataset(tmp_path, run):
    (tmp_path / 'digits.partial' / 'train').mkdir(parents=True)
    run(tmp_path / 'digits', *ARGS)
    assert [path.name for path in tmp_path.iterdir()] == ['digits']


@pytest.mark.parametrize('name, value', [('num-train', '0'), ('size', '8'),
                                         ('seed', '-1')])
def test_impossible_settings(tmp_path, run, capsys, name, value):
    with pytest.raises(SystemExit):
        run(tmp_path / 'digits', f'--{name}={value}')
    assert f'--{name} must be at least' in capsys.readouterr().err
    assert not (tmp_path / 'digits').exists()
