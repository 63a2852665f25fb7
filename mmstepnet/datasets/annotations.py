# Copyright (c) mmstepnet contributors. All rights reserved.
"""What can be wrong with an annotation file in COCO format."""
import math
from collections import Counter
from numbers import Integral, Real
from typing import Any, Container, Dict, Iterator, List, NamedTuple, Optional

from mmstepnet.arguments import short

LISTS = ('images', 'annotations', 'categories')
IMAGE_KEYS = ('id', 'file_name', 'width', 'height')
ANNOTATION_KEYS = ('id', 'image_id', 'category_id', 'bbox', 'area')


class Problem(NamedTuple):
    """What is wrong with an entry.

    Attributes:
        kind (str): What is counted together.
        text (str): Which entry it is, what was expected and what was got.
    """
    kind: str
    text: str


class SortedOut(NamedTuple):
    """An annotation file without its broken entries.

    Attributes:
        content (dict): ``images``, ``annotations`` and ``categories``.
        problems (list[Problem]): What was left out.
        remarks (Counter): What was kept but is worth a remark.
    """
    content: Dict[str, List[dict]]
    problems: List[Problem]
    remarks: Counter


def _is_finite(value: Any) -> bool:
    return isinstance(
        value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_finite(value) and value == int(value) > 0


def _missing(entry: Any, keys: tuple, what: str) -> Optional[Problem]:
    if not isinstance(entry, dict):
        return Problem(f'{what} that is no dict',
                       f'must be a dict, got {short(entry)}')
    for key in keys:
        if key not in entry:
            return Problem(f'{what} without {key!r}',
                           f'must have the key {key!r}, got {short(entry)}')
    if not isinstance(entry['id'], (Integral, str)):
        return Problem(f'{what} with a wrong id',
                       f'must have a number for its id, got {entry["id"]!r}')
    return None


def _image_problem(image: Any, ids: Container) -> Optional[Problem]:
    problem = _missing(image, IMAGE_KEYS, 'image')
    if problem:
        return problem
    if image['id'] in ids:
        return Problem(
            'image with the id of another', 'must have an id of its own, got '
            f'{image["id"]!r} again')
    if not isinstance(image['file_name'], str) or not image['file_name']:
        return Problem(
            'image without a name', 'must have a text for '
            f'file_name, got {image["file_name"]!r}')
    for key in ('width', 'height'):
        if not _is_count(image[key]):
            return Problem(f'image with a wrong {key}',
                           f'must have a positive {key}, got {image[key]!r}')
    return None


def _box_problem(box: Any, image: dict) -> Optional[Problem]:
    if not isinstance(box, (list, tuple)) or len(box) != 4 or not all(
            map(_is_finite, box)):
        return Problem(
            'box that is not four finite numbers',
            f'must have a bbox of four finite numbers, got {short(box)}')
    x, y, width, height = box
    if width <= 0 or height <= 0:
        return Problem(
            'box without an area', 'must have a bbox [x, y, width, height] '
            f'with positive width and height, got {box}')
    if (x + width <= 0 or y + height <= 0 or x >= image['width']
            or y >= image['height']):
        return Problem(
            'box outside its image', 'must have a bbox in its image of '
            f'{image["width"]}x{image["height"]}, got {box}')
    return None


def _annotation_problem(annotation: Any, ids: set, images: Dict[Any, dict],
                        categories: set, evaluated: bool) -> Optional[Problem]:
    keys = ANNOTATION_KEYS + (('iscrowd', ) if evaluated else ())
    problem = _missing(annotation, keys, 'annotation')
    if problem:
        return problem
    if evaluated and annotation['id'] == 0:
        return Problem(
            'annotation with the id 0', 'must have an id from 1 on, got 0, '
            "which COCO's evaluation takes for no box at all")
    if annotation['id'] in ids:
        return Problem(
            'annotation with the id of another',
            f'must have an id of its own, got {annotation["id"]!r} again')
    for key, known in (('image_id', images), ('category_id', categories)):
        value = annotation[key]
        if not isinstance(value, (Integral, str)) or value not in known:
            return Problem(
                f'annotation with an unknown {key}',
                f'must have the {key} of an entry of the file, got {value!r}')
    problem = _box_problem(annotation['bbox'], images[annotation['image_id']])
    if problem:
        return problem
    area = annotation['area']
    if not _is_finite(area) or area <= 0:
        return Problem('annotation without an area',
                       f'must have a positive area, got {area!r}')
    return None


def _check_lists(content: Any) -> None:
    if not isinstance(content, dict):
        raise ValueError(f'must be a dict with the keys {LISTS}, got a '
                         f'{type(content).__name__}')
    for key in LISTS:
        if not isinstance(content.get(key), list):
            got = short(content[key]) if key in content else 'none'
            raise ValueError(f'must have a list under {key!r}, got {got}')
    ids: set = set()
    names: set = set()
    for i, category in enumerate(content['categories']):
        problem = _missing(category, ('id', 'name'), 'category')
        if problem:
            raise ValueError(f'categories[{i}] {problem.text}')
        if not isinstance(category['name'], str):
            raise ValueError(f'categories[{i}] must have a text for name, got '
                             f'{short(category["name"])}')
        for key, seen in (('id', ids), ('name', names)):
            if category[key] in seen:
                raise ValueError(f'categories[{i}] must have another {key} '
                                 f'than those before, got {category[key]!r}')
            seen.add(category[key])


def _remarks(annotation: dict, image: dict) -> Iterator[str]:
    x, y, width, height = annotation['bbox']
    if width < 1 or height < 1:
        yield 'box less than a pixel wide or high, left out'
    if (min(x, y) < 0 or x + width > image['width']
            or y + height > image['height']):
        yield 'box that reaches beyond its image'


def sort_out(content: Any, evaluated: bool = False) -> SortedOut:
    """Find the broken entries of an annotation file.

    Args:
        content (Any): What the file holds.
        evaluated (bool): Whether detections are compared with it, for which
            annotations need ``iscrowd`` and ids other than 0. Defaults to
            False.

    Returns:
        SortedOut: What is left, and what is wrong with the rest.

    Raises:
        ValueError: If it is no dict with ``images``, ``annotations`` and
            ``categories``, or if two categories share an id or a name.

    Example:
        >>> box = dict(id=1, image_id=1, category_id=3, bbox=[9, 9, 0, 1],
        ...            area=0)
        >>> sort_out(dict(
        ...     images=[dict(id=1, file_name='a', width=20, height=20)],
        ...     annotations=[box], categories=[dict(id=3, name='cat')]
        ... )).problems[0].kind
        'box without an area'
    """
    _check_lists(content)
    problems: List[Problem] = []
    remarks: Counter = Counter()
    images: Dict[Any, dict] = {}
    for i, image in enumerate(content['images']):
        problem = _image_problem(image, images)
        if problem:
            problems.append(
                Problem(problem.kind, f'images[{i}] {problem.text}'))
        else:
            images[image['id']] = image
    categories = {category['id'] for category in content['categories']}
    ids: set = set()
    annotations = []
    for i, annotation in enumerate(content['annotations']):
        problem = _annotation_problem(annotation, ids, images, categories,
                                      evaluated)
        if problem:
            problems.append(
                Problem(problem.kind, f'annotations[{i}] {problem.text}'))
            continue
        ids.add(annotation['id'])
        annotations.append(annotation)
        remarks.update(_remarks(annotation, images[annotation['image_id']]))
    kept = dict(content, images=list(images.values()), annotations=annotations)
    return SortedOut(kept, problems, remarks)
