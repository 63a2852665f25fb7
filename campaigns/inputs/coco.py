# Copyright (c) mmstepnet contributors. All rights reserved.
"""A detector's dataset: its annotation file and its images."""
from typing import Iterator

from . import coco_files, image_files
from .harness import Case


def cases() -> Iterator[Case]:
    yield from coco_files.cases()
    yield from image_files.cases()
