# Copyright (c) mmstepnet contributors. All rights reserved.
import logging
import os
from collections import Counter
from typing import Any, List, Optional

from mmcv.transforms import LoadImageFromFile
from mmdet.datasets import CocoDataset
from mmengine.fileio import LocalBackend, get_file_backend, load
from mmengine.logging import print_log

from mmstepnet.engine.errors import InputError
from mmstepnet.registry import DATASETS
from .annotations import SortedOut, sort_out
from .image import BrokenImageError, LoadAnnotatedImage


def _counted(kinds: Counter) -> str:
    return ', '.join(f'{number} x {kind}' for kind, number in kinds.items())


@DATASETS.register_module()
class StrictCocoDataset(CocoDataset):
    """COCO-format dataset that refuses what it can't train on as it is.

    MMDetection goes on with much that is wrong: it drops the boxes of a
    category that ``classes`` doesn't name, ignores a class that no category
    has, numbers the classes in the order of the file's categories whatever
    the order of ``classes``, leaves out boxes without an area, and fills what
    is missing of a cut image with grey. Here

    * ``classes`` has to name categories of the file, in its order; it may
      leave some out;
    * entries of the annotation file have to be complete, with ids of their
      own, and boxes have to lie in their image at least in part;
    * image files have to be there before the training starts, be whole when
      they are read, and have the size that the annotation file says. The
      ``LoadImageFromFile`` of the pipeline gives way to
      :class:`~mmstepnet.datasets.LoadAnnotatedImage`, which also finds out
      whether boxes were drawn before or after a rotation by EXIF data.

    Args:
        *args: Arguments of MMDetection's ``CocoDataset``.
        skip_broken (bool): Whether a training leaves broken entries and
            images out, and says how many, instead of ending. Defaults to
            False.
        **kwargs: Arguments of ``CocoDataset`` by name.

    Raises:
        TypeError: If ``metainfo['classes']`` is not a list or tuple.
        ValueError: If it names no category, one that the annotation file
            doesn't have, or another order; if the file is broken; if
            ``skip_broken`` is set where detections are evaluated, against a
            file that still has its broken entries.
        FileNotFoundError: If an image is missing.

    Example:
        >>> StrictCocoDataset(metainfo=dict(classes='cell'), lazy_init=True)
        Traceback (most recent call last):
        ...
        TypeError: classes must be a tuple of names, ...
    """
    COCOAPI: Any

    def __init__(self,
                 *args: Any,
                 skip_broken: bool = False,
                 **kwargs: Any) -> None:
        self.skip_broken = skip_broken
        self._skipped: set = set()
        lazy_init = kwargs.pop('lazy_init', False)
        super().__init__(*args, lazy_init=True, **kwargs)
        if skip_broken and self.test_mode:
            raise ValueError(
                'skip_broken is for training: an evaluation compares with '
                f'all of {self.ann_file!r}, so mend that file instead')
        self.pipeline.transforms = [
            self._strict(transform) for transform in self.pipeline.transforms
        ]
        if not lazy_init:
            self.full_init()

    @staticmethod
    def _strict(transform: Any) -> Any:
        if type(transform) is not LoadImageFromFile:
            return transform
        return LoadAnnotatedImage(
            to_float32=transform.to_float32,
            color_type=transform.color_type,
            imdecode_backend=transform.imdecode_backend,
            backend_args=transform.backend_args)

    @classmethod
    def _load_metainfo(cls, metainfo: Optional[dict] = None) -> dict:
        classes = (metainfo or {}).get('classes', ())
        if not isinstance(classes, (list, tuple)):
            raise TypeError('classes must be a tuple of names, such as '
                            f"('cell', ) for a single class, got {classes!r}")
        return super()._load_metainfo(metainfo)

    def load_data_list(self) -> List[dict]:
        """Check the annotation file and the classes, then load it."""
        content = self._check_entries(self._read())
        self._check_classes(content)
        content['images'] = self._check_files(content['images'])

        def as_index(_: str) -> Any:
            coco = type(self).COCOAPI()
            coco.dataset = content
            coco.createIndex()
            coco.img_ann_map, coco.cat_img_map = coco.imgToAnns, coco.catToImgs
            return coco

        self.COCOAPI = as_index
        try:
            return super().load_data_list()
        finally:
            del self.COCOAPI

    def _read(self) -> SortedOut:
        try:
            return sort_out(
                load(self.ann_file, backend_args=self.backend_args),
                evaluated=self.test_mode)
        except FileNotFoundError:
            raise
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f'the annotation file {self.ann_file!r} is not '
                             f'in COCO format: {error}') from error

    def _check_entries(self, found: SortedOut) -> dict:
        kinds = Counter(problem.kind for problem in found.problems)
        if kinds and not self.skip_broken:
            advice = '' if self.test_mode else \
                ', skip_broken=True of the dataset leaves them out'
            raise ValueError(
                f'in {self.ann_file!r}, {found.problems[0].text}; '
                f'{len(found.problems)} broken in all: {_counted(kinds)}'
                f'{advice}')
        for what, counts in (('skipped', kinds), ('found', found.remarks)):
            if counts:
                print_log(f'{self.ann_file!r}: {what} {_counted(counts)}',
                          'current', logging.WARNING)
        return found.content

    def _check_classes(self, content: dict) -> None:
        categories = [category['name'] for category in content['categories']]
        classes = list(self.metainfo['classes'])
        known = [name for name in categories if name in classes]
        if not classes or classes != known:
            raise ValueError(
                f'classes must name categories of {self.ann_file!r} in its '
                f'order, expected {categories} or a part of it, got {classes}')

    def _check_files(self, images: List[dict]) -> List[dict]:
        """Look for the image files, where a look is cheap."""
        folder = self.data_prefix['img']
        if type(get_file_backend(
                folder, backend_args=self.backend_args)) is not LocalBackend:
            return images
        missing = {
            image['file_name']
            for image in images
            if not os.path.isfile(os.path.join(folder, image['file_name']))
        }
        if missing and not self.skip_broken:
            raise FileNotFoundError(
                f'{len(missing)} of {len(images)} images of '
                f'{self.ann_file!r} are not in {folder!r}, among them '
                f'{min(missing)!r}')
        if missing:
            print_log(
                f'{self.ann_file!r}: skipped {len(missing)} images that '
                f'are not in {folder!r}', 'current', logging.WARNING)
        return [image for image in images if image['file_name'] not in missing]

    def filter_data(self) -> List[dict]:
        """Leave out what ``filter_cfg`` says, unless that is everything."""
        kept = super().filter_data()
        if not kept:
            raise ValueError(
                f'none of the {len(self.data_list)} images of '
                f'{self.ann_file!r} is left to use: filter_cfg='
                f'{self.filter_cfg} asks for boxes of classes='
                f'{self.metainfo["classes"]} or a size that they lack')
        if not self.test_mode:
            self._check_boxes(kept)
        return kept

    def _check_boxes(self, images: List[dict]) -> None:
        """Refuse images whose boxes are all left out."""
        ids = {i for key in self.cat_ids for i in self.cat_img_map[key]}
        boxes = [
            image['instances'] for image in images if image['img_id'] in ids
        ]
        if boxes and not any(boxes):
            raise ValueError(
                f'all boxes of classes={self.metainfo["classes"]} in '
                f'{self.ann_file!r} are left out, as they are less than a '
                'pixel wide or high: expected [x, y, width, height] in '
                'pixels, not in parts of the image')

    def prepare_data(self, idx: int) -> Any:
        """Run the pipeline; None for a broken image that is skipped."""
        info = self.get_data_info(idx)
        path, size = info['img_path'], (info['width'], info['height'])
        try:
            return self.pipeline(info)
        except BrokenImageError as error:
            if not self.skip_broken:
                raise
            if path not in self._skipped:
                self._skipped.add(path)
                print_log(
                    f'{error}; skipped, {len(self._skipped)} so far in '
                    'this process', 'current', logging.WARNING)
            return None
        except Exception as error:
            if type(error).__module__.split('.')[0] != 'cv2':
                raise
            raise InputError(
                f'the pipeline cannot take the image {path!r} of '
                f'{size[0]}x{size[1]} pixels: '
                f'{" ".join(str(error).split())[-100:]}') from error
