# Copyright (c) mmstepnet contributors. All rights reserved.
"""Image files of a detector's dataset."""
import io
import json
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import numpy as np
import torch
from PIL import Image

from .coco_files import build
from .harness import Case, Outcome, call, process, tool
from .workspace import BOX, SIZE, picture, scenes


def file_of(image: np.ndarray, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()


def converted(mode: str, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture()).convert(mode).save(file, kind, **options)
    return file.getvalue()


def sixteen_bits(channels: int) -> bytes:
    import cv2
    image = picture().astype(np.uint16)[..., :channels] * 257
    return cv2.imencode('.png', image)[1].tobytes()


def animated() -> bytes:
    file = io.BytesIO()
    frames = [Image.fromarray(picture(i)) for i in range(3)]
    frames[0].save(file, 'GIF', save_all=True, append_images=frames[1:])
    return file.getvalue()


def turned(orientation: int, kind: str = 'JPEG') -> bytes:
    """A picture that is upright once its EXIF data are obeyed."""
    undo = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a),
        7: lambda a: np.rot90(a.transpose(1, 0, 2), 2),
        8: lambda a: np.rot90(a, -1)
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = np.ascontiguousarray(undo[orientation](picture()[:48]))
    return file_of(image, kind, exif=exif)


def is_aligned(sample: dict) -> None:
    """The box of the sample is white, and what is around it dark."""
    image = sample['inputs'].float().mean(0)
    box, = sample['data_samples'].gt_instances.bboxes.tensor.tolist()
    x1, y1, x2, y2 = map(round, box)
    around = torch.zeros_like(image, dtype=torch.bool)
    around[max(y1 - 12, 0):y2 + 12, max(x1 - 12, 0):x2 + 12] = True
    around[max(y1 - 3, 0):y2 + 3, max(x1 - 3, 0):x2 + 3] = False
    inside = image[y1 + 3:y2 - 3, x1 + 3:x2 - 3].mean()
    outside = image[around].mean()
    if inside < 230 or outside > 80:
        raise RuntimeError(f'the box {box} is not aligned: inside '
                           f'{inside:.0f}, outside {outside:.0f}')


def image(content: Optional[bytes],
          name: str = 'x.jpg',
          size=(SIZE, SIZE),
          box=BOX,
          repeat: int = 1,
          **options: Any) -> Callable[[Path], Outcome]:
    """A dataset with one image, and its box, in another form."""

    def make() -> None:
        path = Path('data/images', name)
        if content is not None:
            path.write_bytes(content)
        data = scenes()
        data['images'][0].update(file_name=name, width=size[0], height=size[1])
        data['annotations'][0].update(bbox=list(box))
        Path('data/one.json').write_text(
            json.dumps(data, ensure_ascii=False), encoding='utf-8')
        dataset = build('one.json', **options)
        is_aligned(dataset[0])
        if options.get('skip_broken'):
            print(f'{len(dataset)} images')

    return call(make)


JPEG = file_of(picture(), 'JPEG', quality=95)
PNG = file_of(picture(), 'PNG')
NOISY = file_of(
    np.random.default_rng(0).integers(0, 255, (SIZE, SIZE, 3), dtype=np.uint8),
    'JPEG')
BROKEN = (
    ('0 bytes', b'', 'empty, 0 bytes', 'expected a whole'),
    ('text', b'no picture', 'no image that can be decoded', 'expected'),
    ('HTML', b'<html>404</html>', 'no image that can be decoded'),
    ('header of a JPEG', JPEG[:20], 'cut off after 20 bytes'),
    ('half a JPEG', JPEG[:len(JPEG) // 2], 'cut off after'),
    ('JPEG without its end', JPEG[:-2], 'cut off after'),
    ('noise without its last tenth', NOISY[:-len(NOISY) // 10],
     'cut off after'),
    ('half a PNG', PNG[:len(PNG) // 2], 'cut off after'),
    ('PNG without its end', PNG[:-12], 'cut off after'),
    ('PNG with wrong bytes', PNG[:2000] + bytes(64) + PNG[2064:],
     'no image that can be decoded'),
    ('half a GIF', animated()[:900], 'no image that can be decoded'),
    ('half a BMP', converted('RGB', 'BMP')[:5000], 'no image'),
    ('half a TIFF', converted('RGB', 'TIFF')[:5000], 'no image'),
    ('half a WebP', converted('RGB', 'WEBP')[:800], 'no image'),
)
READABLE = (
    ('JPEG', JPEG, 'x.jpg'),
    ('grey JPEG', converted('L', 'JPEG'), 'x.jpg'),
    ('CMYK JPEG', converted('CMYK', 'JPEG', quality=95), 'x.jpg'),
    ('progressive JPEG', file_of(picture(), 'JPEG',
                                 progressive=True), 'a.jpg'),
    ('JPEG with bytes behind its end', JPEG + bytes(100), 'x.jpg'),
    ('RGBA', converted('RGBA', 'PNG'), 'x.png'),
    ('palette', converted('P', 'PNG'), 'x.png'),
    ('grey with alpha', converted('LA', 'PNG'), 'x.png'),
    ('16 bits', sixteen_bits(3), 'x.png'),
    ('16 bits grey', sixteen_bits(1), 'x.png'),
    ('animated GIF', animated(), 'x.gif'),
    ('WebP', converted('RGB', 'WEBP'), 'x.webp'),
    ('TIFF', converted('RGB', 'TIFF'), 'x.tif'),
    ('BMP', converted('RGB', 'BMP'), 'x.bmp'),
    ('PNG that is called JPEG', PNG, 'x.jpg'),
    ('name with spaces', JPEG, 'my  picture (1).jpg'),
    ('name that is not ASCII', JPEG, 'żółw 图片 é.jpg'),
    ('name with quotes', JPEG, 'a\'b"c.jpg'),
    ('name with signs', JPEG, 'a%20#;&$x.jpg'),
    ('name with a line break', JPEG, 'a\nb.jpg'),
)


def pipeline_cases() -> Iterator[Case]:
    """Whole trainings with such images."""

    def mixed(broken: bool,
              *args: str,
              start=tool) -> Callable[[Path], Outcome]:

        def run(root: Path) -> Outcome:
            data = scenes()
            files = dict(
                zip('0123',
                    (JPEG, turned(6), sixteen_bits(3), converted(
                        'CMYK', 'JPEG'))))
            if broken:
                files['2'] = NOISY[:-len(NOISY) // 10]
            for entry_, (name, content) in zip(data['images'], files.items()):
                entry_['file_name'] = f'mixed ü {name}.jpg'
                (root / 'data/images' /
                 entry_['file_name']).write_bytes(content)
            data['images'][1]['height'] = 48
            (root / 'data/mixed.json').write_text(json.dumps(data))
            return start('train', 'detector.py', '--work-dir', 'runs/mixed',
                         '--no-validate', '--cfg-options',
                         'train_dataloader.dataset.ann_file=mixed.json',
                         'default_hooks.checkpoint=None', *args)(
                             root)

        return run

    yield Case(
        'coco',
        'training with readable images',
        mixed(False), ('Epoch(train)', ),
        'works',
        fast=False)
    yield Case(
        'coco',
        'training with a cut image',
        mixed(True), ("mixed ü 2.jpg'", 'cut off after'),
        fast=False)
    yield Case(
        'coco',
        'training with a cut image in a worker',
        mixed(True, 'train_dataloader.num_workers=1', start=process),
        ("mixed ü 2.jpg'", 'cut off after'),
        fast=False)
    yield Case(
        'coco',
        'training that skips a cut image',
        mixed(True, 'train_dataloader.dataset.skip_broken=True'),
        ('cut off after', 'skipped, 1 so far', 'Epoch(train)'),
        'skipped',
        fast=False)


def cases() -> Iterator[Case]:
    for name, content, *words in BROKEN:
        yield Case('coco', name, image(content), ("images/x.jpg'", *words))
        yield Case('coco', f'{name}, skipped',
                   image(content, skip_broken=True),
                   (words[0], 'skipped, 1 so far', '4 images'), 'skipped')
    yield Case('coco', 'missing image', image(None),
               ('1 of 4 images', "'x.jpg'", 'data/images'))
    yield Case('coco', 'missing image, skipped', image(None, skip_broken=True),
               ('skipped 1 images', '3 images'), 'skipped')
    for size in ((65, 64), (64, 63), (128, 128)):
        yield Case('coco', f'size in the file {size}', image(JPEG, size=size),
                   ("images/x.jpg'", '64 wide and 64 high',
                    f'expected {size[0]} wide and {size[1]} high'))
    for name, content, file in READABLE:
        yield Case('coco', name, image(content, file), (), 'works')
    x, y, width, height = BOX
    for orientation in range(1, 9):
        yield Case('coco', f'EXIF orientation {orientation}',
                   image(turned(orientation), size=(64, 48)), (), 'works')
    # boxes drawn in the stored image: 6 is turned left, 8 right, 5 mirrored
    for orientation, box in ((5, (y, x, height, width)),
                             (6, (y, 64 - x - width, height, width)),
                             (7, (48 - y - height, 64 - x - width, height,
                                  width)), (8, (48 - y - height, x, height,
                                                width))):
        yield Case('coco', f'EXIF orientation {orientation} not obeyed',
                   image(turned(orientation), size=(48, 64), box=box), (),
                   'works')
    yield Case('coco', 'PNG with EXIF',
               image(turned(6, 'PNG'), 'x.png', size=(64, 48)), (), 'works')
    yield from pipeline_cases()
