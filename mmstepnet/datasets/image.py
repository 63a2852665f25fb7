# Copyright (c) mmstepnet contributors. All rights reserved.
import io
from typing import Optional, Tuple

import mmcv
import numpy as np
from mmcv.transforms import LoadImageFromFile
from mmengine import fileio
from PIL import Image, UnidentifiedImageError

from mmstepnet.engine.errors import InputError

_ORIENTATION = 0x0112
_TURNED = (5, 6, 7, 8)  # values of it that exchange width and height


class BrokenImageError(InputError):
    """An image that can't be read, or isn't the one that was annotated."""


def _is_cut(content: bytes) -> bool:
    """Whether the end of a JPEG or PNG file is missing.

    The decoder fills what is missing with grey and says nothing.
    """
    if content.startswith(b'\xff\xd8'):
        return content.rfind(b'\xff\xd9') <= content.rfind(b'\xff\xda')
    return content.startswith(b'\x89PNG') and b'IEND' not in content


def _is_turned(content: bytes) -> bool:
    """Whether the file asks to be shown with its sides exchanged."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.getexif().get(_ORIENTATION) in _TURNED
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        return False


class LoadAnnotatedImage(LoadImageFromFile):
    """Loads an image, and refuses one that the annotations don't fit.

    It decodes as its base class does. An image that its EXIF data turn by a
    quarter is turned if the annotation file has the size of the turned one,
    and left as it is stored if the file has that size: the boxes were drawn
    in an image of that size. Of the other EXIF orientations, which keep the
    size, the upright one is taken.

    Args:
        **kwargs: Arguments of ``LoadImageFromFile``.

    Raises:
        BrokenImageError: If the file is missing, empty, cut off, no image,
            or has another size than the annotation file says.

    Example:
        >>> LoadAnnotatedImage()(dict(img_path='none.jpg'))
        Traceback (most recent call last):
        ...
        mmstepnet.datasets.image.BrokenImageError: the image 'none.jpg' ...
    """

    def transform(self, results: dict) -> dict:
        """Load the image.

        Args:
            results (dict): ``img_path``, ``height`` and ``width``.

        Returns:
            dict: The same with ``img``, ``img_shape`` and ``ori_shape``.
        """
        path = results['img_path']
        try:
            content = fileio.get(path, backend_args=self.backend_args)
        except OSError as error:
            raise BrokenImageError(f'the image {path!r} cannot be read: '
                                   f'{error.strerror or error}') from error
        expected = results['height'], results['width']
        image = self._decode(path, content, self.color_type)
        if image.shape[:2] == expected[::-1] != expected and \
                _is_turned(content):
            image = self._decode(path, content,
                                 f'{self.color_type}_ignore_orientation')
        if image.shape[:2] != expected:
            raise BrokenImageError(
                f'the image {path!r} is {_size(image.shape)}, expected '
                f'{_size(expected)} as in the annotation file')
        results['img'] = image.astype(np.float32) if self.to_float32 else image
        results['img_shape'] = results['ori_shape'] = image.shape[:2]
        return results

    def _decode(self, path: str, content: bytes,
                color_type: str) -> np.ndarray:
        image: Optional[np.ndarray] = None
        problem = 'no image that can be decoded'
        if not content:
            problem = 'empty, 0 bytes'
        elif _is_cut(content):
            problem = f'cut off after {len(content)} bytes'
        else:
            image = mmcv.imfrombytes(
                content, flag=color_type, backend=self.imdecode_backend)
        if image is None:
            raise BrokenImageError(f'the image {path!r} is {problem}: '
                                   'expected a whole JPEG, PNG or other image')
        return image


def _size(shape: Tuple[int, ...]) -> str:
    return f'{shape[1]} wide and {shape[0]} high'
