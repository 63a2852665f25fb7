# Copyright (c) mmstepnet contributors. All rights reserved.
"""Write the labelled images of STL-10 into a folder a class.

Reads the files ``train_X.bin``, ``train_y.bin``, ``test_X.bin`` and
``test_y.bin`` of https://cs.stanford.edu/~acoates/stl10 and writes PNG files,
``OUT_DIR/train/airplane/00000.png`` and so on, for the configs of STL-10.
"""
import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

CLASSES = ('airplane', 'bird', 'car', 'cat', 'deer', 'dog', 'horse', 'monkey',
           'ship', 'truck')
SIZE = 96


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('binary_dir', help='folder of the .bin files')
    parser.add_argument('out_dir', help='folder to write to: data/stl10')
    return parser.parse_args()


def read_split(binary_dir, split):
    """Images (N, 96, 96, 3) in RGB and labels (N,) from 0."""
    pixels, labels = (
        np.fromfile(Path(binary_dir) / f'{split}_{part}.bin', np.uint8)
        for part in 'Xy')
    if len(pixels) != len(labels) * 3 * SIZE**2:
        raise ValueError(
            f'{split}_X.bin must have {3 * SIZE**2} bytes for each of the '
            f'{len(labels)} labels of {split}_y.bin, got {len(pixels)} bytes')
    if not np.isin(labels, range(1, 11)).all():
        raise ValueError(f'{split}_y.bin must hold labels from 1 to 10, got '
                         f'{sorted(set(labels.tolist()))[:11]}')
    # planes of colour, each written column by column
    images = pixels.reshape(-1, 3, SIZE, SIZE).transpose(0, 3, 2, 1)
    return images, labels.astype(int) - 1


def main():
    args = parse_args()
    for split in ('train', 'test'):
        try:
            images, labels = read_split(args.binary_dir, split)
        except (OSError, ValueError) as error:
            sys.exit(f'error: {error}')
        for i, (image, label) in enumerate(zip(images, labels)):
            folder = Path(args.out_dir) / split / CLASSES[label]
            folder.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / f'{i:05d}.png'), image[..., ::-1])
        print(f'{len(labels)} {split} images')


if __name__ == '__main__':
    main()
