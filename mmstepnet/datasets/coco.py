# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import List, Optional

from mmdet.datasets import CocoDataset
from mmengine.fileio import load

from mmstepnet.registry import DATASETS


@DATASETS.register_module()
class StrictCocoDataset(CocoDataset):
    """COCO-format dataset that refuses classes its file doesn't have.

    MMDetection drops the boxes of a category that ``classes`` doesn't name,
    ignores a class that no category has, and numbers the classes in the
    order of the file's categories whatever the order of ``classes``. Here
    ``classes`` has to name categories of the file, in its order; it may leave
    some out.

    Args:
        *args: Arguments of MMDetection's ``CocoDataset``.
        **kwargs: The same, by name.

    Raises:
        TypeError: If ``metainfo['classes']`` is not a list or tuple.
        ValueError: If it names no category, one that the annotation file
            doesn't have, or another order.

    Example:
        >>> StrictCocoDataset(metainfo=dict(classes='cell'), lazy_init=True)
        Traceback (most recent call last):
        ...
        TypeError: classes must be a tuple of names, ...
    """

    @classmethod
    def _load_metainfo(cls, metainfo: Optional[dict] = None) -> dict:
        classes = (metainfo or {}).get('classes', ())
        if not isinstance(classes, (list, tuple)):
            raise TypeError('classes must be a tuple of names, such as '
                            f"('cell', ) for a single class, got {classes!r}")
        return super()._load_metainfo(metainfo)

    def load_data_list(self) -> List[dict]:
        """Check the classes, then load the annotation file."""
        annotations = load(self.ann_file, backend_args=self.backend_args)
        categories = [
            category['name'] for category in annotations['categories']
        ]
        classes = list(self.metainfo['classes'])
        known = [name for name in categories if name in classes]
        if not classes or classes != known:
            raise ValueError(
                f'classes must name categories of {self.ann_file!r} in its '
                f'order, expected {categories} or a part of it, got {classes}')
        return super().load_data_list()
