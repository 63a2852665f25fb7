# Copyright (c) mmstepnet contributors. All rights reserved.
import cv2
import numpy as np


def write_binaries(folder, number=3):
    """Random images in the files of STL-10, (H, W, RGB), and labels."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    written = {}
    for split in ('train', 'test'):
        images = rng.integers(0, 256, (number, 96, 96, 3), dtype=np.uint8)
        labels = np.array([1, 10, 4], dtype=np.uint8)
        images.transpose(0, 3, 2, 1).tofile(folder / f'{split}_X.bin')
        labels.tofile(folder / f'{split}_y.bin')
        written[split] = images
    return written


def test_folders(run_tool, tmp_path):
    written = write_binaries(tmp_path / 'binary')
    out = tmp_path / 'out'
    result = run_tool('dataset_converters/stl10', tmp_path / 'binary', out)
    assert result.code == 0, result.code
    for split, images in written.items():
        names = sorted(
            p.relative_to(out / split).as_posix()
            for p in (out / split).glob('*/*.png'))
        assert names == [
            'airplane/00000.png', 'cat/00002.png', 'truck/00001.png'
        ]
        for name in names:
            image = cv2.imread(str(out / split / name))[..., ::-1]
            assert np.array_equal(image, images[int(name[-9:-4])])


def test_wrong_files(run_tool, tmp_path):
    write_binaries(tmp_path / 'binary')
    np.zeros(2, np.uint8).tofile(tmp_path / 'binary/train_y.bin')
    result = run_tool('dataset_converters/stl10', tmp_path / 'binary',
                      tmp_path)
    assert result.code == ('error: train_X.bin must have 27648 bytes for each '
                           'of the 2 labels of train_y.bin, got 82944 bytes')
    result = run_tool('dataset_converters/stl10', tmp_path / 'no', tmp_path)
    assert 'No such file' in result.code
