# Copyright (c) mmstepnet contributors. All rights reserved.
"""Images and batches of odd sizes and values, through networks."""
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import cv2
import numpy as np
import torch

from .harness import Case, Outcome, call, tool
from .workspace import scenes

BACKBONES: Dict[str, dict] = {
    'ResNet':
    dict(depth=18, base_channels=4, step='StepNet'),
    'ResNetV1d':
    dict(depth=50, base_channels=4, step='StepNet'),
    'CIFARResNet':
    dict(depth=11, base_channels=8, step='StepNet'),
    'PreActCIFARResNet':
    dict(depth=11, base_channels=8, step='InResNet'),
    'CIFARAlterNet':
    dict(
        depth=20, base_channels=8, step='StepNet', attention_blocks=(0, 1, 1)),
    'VisionTransformer':
    dict(embed_dims=16, num_layers=2, step='StepNet', attention=False),
}
SIZES = ((1, 1), (1, 4000), (4000, 1), (3, 5))


def build(name: str, **options: Any) -> torch.nn.Module:
    from mmstepnet.registry import MODELS
    torch.manual_seed(0)
    cfg = {**BACKBONES[name], **options}
    return MODELS.build(dict(type=f'mmstepnet.{name}', **cfg))


def sized(name: str, size: tuple) -> None:
    """In evaluation the outputs are finite, of one image and of two."""
    model = build(name).eval()
    for images in (1, 2):
        outs = model(torch.rand(images, 3, *size))
        if not all(out.isfinite().all() and out.numel() for out in outs):
            raise RuntimeError(f'outputs of {size} are not finite')


def alone(step: Any, size: int = 32) -> None:
    """Batches of one train, and leave every parameter finite."""
    model = build(
        'CIFARResNet', depth=20, block='basic', base_channels=16,
        step=step).train()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for seed in range(3):
        torch.manual_seed(seed)
        optimizer.zero_grad()
        model(torch.rand(1, 3, size, size))[0].square().mean().backward()
        optimizer.step()
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise RuntimeError(f'{name} is not finite')
    moved = [
        n for n, p in model.named_parameters()
        if not torch.equal(p, before[n])
    ]
    if 'conv1.weight' not in moved:
        raise RuntimeError('nothing was learned')


def not_finite(name: str, value: float) -> None:
    """A broken image shows in its own output and in no other."""
    model = build(name).eval()
    images = torch.rand(3, 3, 32, 32)
    with torch.no_grad():
        right = model(images)[-1]
        images[1, 0, 3, 4] = value
        out = model(images)[-1]
    if out[1].isfinite().all():
        raise RuntimeError(f'{value} in an image does not show')
    if not torch.equal(out[[0, 2]], right[[0, 2]]):
        raise RuntimeError(f'{value} in an image changes another')


class Classifier(torch.nn.Module):
    """Scores of two classes from a backbone."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = build('ResNet')

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.backbone(x)[-1].mean((2, 3))[:, :2]


def stiffness_of_nan() -> None:
    """TNS counts the broken image and leaves it out."""
    from mmstepnet.stiffness.sources import measure_network
    images = torch.rand(3, 3, 32, 32)
    images[1] = float('nan')
    measured = measure_network(
        Classifier(), [(images, None, list('abc'))],
        name='nan',
        blocks=None,
        num_classes=0,
        device='cpu')
    print(measured.report('own').summary())


def flat(shape: tuple, *args: Any) -> Callable[[Path], Outcome]:
    """A dataset of flat images through a whole run."""

    def run(root: Path) -> Outcome:
        height, width = shape
        data = scenes()
        for image, box in zip(data['images'], data['annotations']):
            image.update(file_name='flat.png', height=height, width=width)
            box.update(bbox=[0, 0, width, height], area=width * height)
        cv2.imwrite(
            str(root / 'data/images/flat.png'),
            np.full((*shape, 3), 99, np.uint8))
        (root / 'data/flat.json').write_text(json.dumps(data))
        split = 'train' if args[0] == 'train' else 'test'
        return tool(args[0], 'detector.py', *args[1:], '--work-dir',
                    'runs/flat', '--cfg-options',
                    f'{split}_dataloader.dataset.ann_file=flat.json',
                    'test_evaluator.ann_file=data/flat.json',
                    'default_hooks.checkpoint=None')(
                        root)

    return run


def diverging(*options: str) -> Callable[[Path], Outcome]:
    return tool('train', 'classifier.py', '--work-dir', 'runs/nan',
                '--no-validate', '--cfg-options',
                'default_hooks.checkpoint=None', *options)


def cases() -> Iterator[Case]:
    for name in BACKBONES:
        for size in SIZES:
            height, width = size
            words = ()
            if name == 'VisionTransformer' and min(size) < 4:
                words = (f'{height} x {width}', 'at least 4 x 4')
            yield Case('images', f'{name}, {height}x{width}',
                       call(sized, name, size), words,
                       'refused' if words else 'works')
    yield Case('images', 'CIFARAlterNet, 8x36',
               call(sized, 'CIFARAlterNet', (8, 36)),
               ('4 x 18', 'windows of 4 x 8', 'window_size'))
    from mmstepnet.steps.builder import available_steps
    for step in available_steps():
        cfg = dict(type=step)
        if step in ('CBAM', 'FCA', 'SE', 'SEM'):
            cfg['ratio'] = 4
        if step == 'SGE':
            cfg['groups'] = 4
        yield Case('images', f'batch of one, {step}', call(alone, cfg), (),
                   'works')
    yield Case('images', 'batch of one, no step', call(alone, None), (),
               'works')
    for name in ('ResNet', 'CIFARResNet', 'VisionTransformer'):
        for value in ('nan', 'inf'):
            yield Case('images', f'{value} in an image, {name}',
                       call(not_finite, name, float(value)), (), 'works')
    yield Case('images', 'nan in an image, TNS', call(stiffness_of_nan),
               ('1 ', 'finite'), 'skipped')
    for shape in ((1, 1), (1, 4000), (4000, 1)):
        size = f'{shape[0]}x{shape[1]}'
        refused = max(shape) > 100
        words = ("images/flat.png'", f'{shape[1]}x{shape[0]} pixels')
        yield Case(
            'images',
            f'detector, test on {size}',
            flat(shape, 'test', 'detector.pth'),
            words if refused else ('Epoch(test)', ),
            'refused' if refused else 'works',
            fast=False)
        yield Case(
            'images',
            f'detector, train on {size}',
            flat(shape, 'train', '--no-validate'),
            ('none of the 4 images', 'min_size'),
            fast=False)
    for options, *words in (
        (('optim_wrapper.optimizer.lr=1e38', ), 'in iteration 2', 'loss',
         'the last checkpoint is none yet'),
        (('optim_wrapper.optimizer.lr=1e38', 'train_dataloader.batch_size=4'),
         'expected a finite loss'),
        (('data_preprocessor.std=[1e-39,1e-39,1e-39]', ), 'in iteration 1',
         'nan'),
    ):
        yield Case(
            'images',
            f'training that diverges, {options[0]}',
            diverging(*options, 'train_cfg.max_epochs=3'),
            tuple(words),
            fast=False)
