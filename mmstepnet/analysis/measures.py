# Copyright (c) mmstepnet contributors. All rights reserved.
"""The analyses of a classifier over many images.

Each is shared by the processes of the default group, logs its progress, keeps
what is done in ``folder`` and goes on there after a stop; each gives a
dictionary that JSON takes, the same in every process.
"""
from typing import Any, Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from mmstepnet.evaluation import PixelBatch, map_pieces
from mmstepnet.robustness import image_generators
from mmstepnet.stiffness import StiffnessAccumulator, StiffnessRecorder
from .damping import block_damping
from .features import (blocks_by_name, feature_variance, frequencies,
                       log_amplitude, reduce_blocks)
from .hessian import HessianProduct, lanczos
from .landscape import attack_surface, filter_normalized_direction, moved
from .subject import Subject, image_means, image_sums


def measure_features(subject: Subject,
                     pattern: Optional[str] = None) -> Dict[str, Any]:
    """Log amplitude over frequency and variance of each block's maps.

    Args:
        subject (Subject): What is analysed.
        pattern (str, optional): Regular expression for the names of blocks.
            Defaults to None, all residual blocks.

    Returns:
        dict: ``amplitude`` and ``variance`` with mean and standard error
        over images by block, and the ``frequencies`` of each block.
    """
    classifier = subject.classifier
    blocks = blocks_by_name(classifier.model.backbone, pattern)

    def measure(batch: PixelBatch) -> Dict[str, Any]:
        ticks: Dict[str, List[float]] = {}

        def reduce(name: str, maps: Tensor) -> Tensor:
            ticks[name] = frequencies(*maps.shape[2:])
            variance = feature_variance(maps)[:, None]
            return torch.cat([log_amplitude(maps), variance], 1)

        values = reduce_blocks(blocks, reduce,
                               lambda: classifier(batch.images))
        return dict(sums=image_sums(values), frequencies=ticks)

    parts = subject.map_batches(measure, pattern=pattern)
    means = image_means([part['sums'] for part in parts],
                        subject.batches.num_images)
    return dict(
        frequencies=parts[0]['frequencies'],
        amplitude={
            name: {
                k: v[:-1]
                for k, v in stats.items()
            }
            for name, stats in means.items()
        },
        variance={
            name: {
                k: v[-1]
                for k, v in stats.items()
            }
            for name, stats in means.items()
        })


def measure_damping(subject: Subject) -> Dict[str, Any]:
    """Damping of each block of an In-ResNet.

    Args:
        subject (Subject): What is analysed.

    Returns:
        dict: Mean and standard error over images by block.
    """
    parts = subject.map_batches(lambda batch: image_sums(
        block_damping(subject.classifier.model.backbone, lambda: subject.
                      classifier(batch.images))))
    return dict(damping=image_means(parts, subject.batches.num_images))


def measure_stiffness(subject: Subject, dt: str = 'own') -> Dict[str, Any]:
    """Total neural stiffness, and the accuracy on the same images.

    Args:
        subject (Subject): What is analysed.
        dt (str): ``'own'`` or ``'unit'`` step sizes. Defaults to ``'own'``.

    Returns:
        dict: The stiffness report, and ``accuracy``.
    """
    classifier = subject.classifier
    recorder = StiffnessRecorder(classifier.model)
    if not recorder.stages:
        raise ValueError('expected residual blocks with a step, got none in '
                         f'{type(classifier.model).__name__}')

    def measure(batch: PixelBatch) -> Dict[str, Any]:
        with recorder, torch.no_grad():
            answers = classifier(batch.images).argmax(1)
            values = recorder.pop()
        return dict(
            indices=batch.indices,
            values=values.tolist(),
            correct=(answers == batch.labels).sum().item())

    accumulator = StiffnessAccumulator(recorder.stages)
    correct = 0
    for part in subject.map_batches(measure):
        accumulator.update(part['indices'],
                           torch.tensor(part['values'], dtype=torch.float64))
        correct += part['correct']
    return dict(
        accumulator.compute(dt).to_dict(),
        accuracy=correct / subject.batches.num_images)


def measure_hessian(subject: Subject,
                    num_top: int = 5,
                    max_steps: int = 50,
                    tol: float = 1e-3) -> Dict[str, Any]:
    """Largest eigenvalues of the Hessian of the loss of each mini-batch.

    The loss is the mean cross-entropy by all parameters that are trained. L2
    regularization, which is not part of it, adds the weight decay to every
    eigenvalue.

    Args:
        subject (Subject): What is analysed; its batches are the
            mini-batches.
        num_top (int): Eigenvalues of each. Defaults to 5.
        max_steps (int): Products with the Hessian at most. Defaults to 50.
        tol (float): Relative error at which a mini-batch is done.

    Returns:
        dict: ``top`` eigenvalues, falling, with ``errors``, and the Lanczos
        quadrature ``values`` and ``weights`` of each mini-batch; the mean
        ``max_eigenvalue`` with its standard error over mini-batches.
    """
    parameters = [
        p for p in subject.classifier.parameters() if p.requires_grad
    ]

    def measure(batch: PixelBatch) -> Dict[str, Any]:
        loss = subject.loss(batch.labels, 'mean')
        product = HessianProduct(lambda: loss(batch.images), parameters)
        start = torch.randn(
            product.dim, generator=subject.generator(batch.indices[0]))
        ritz = lanczos(
            product,
            start.to(subject.device, parameters[0].dtype),
            max_steps,
            num_top=num_top,
            tol=tol)
        return dict(
            top=ritz.values.flip(0)[:num_top].tolist(),
            errors=ritz.errors.flip(0)[:num_top].tolist(),
            values=ritz.values.tolist(),
            weights=ritz.weights.tolist())

    parts = subject.map_batches(
        measure, num_top=num_top, max_steps=max_steps, tol=tol)
    largest = torch.tensor([part['top'][0] for part in parts],
                           dtype=torch.float64)
    spread = largest.std(correction=min(len(largest) - 1, 1)).item()
    return dict(
        batches=parts,
        num_parameters=sum(p.numel() for p in parameters),
        max_eigenvalue=dict(
            mean=largest.mean().item(), stderr=spread / len(largest)**0.5))


def measure_weight_surface(subject: Subject,
                           extent: float = 1.,
                           num_points: int = 21) -> Dict[str, Any]:
    """Loss on a square of two filter-normalized directions.

    Args:
        subject (Subject): What is analysed.
        extent (float): Half the side of the square. Defaults to 1.
        num_points (int): Points of the grid along a side. Defaults to 21.

    Returns:
        dict: Coordinates ``x`` and ``y``, and ``loss`` and ``accuracy`` with
        a row for each y.
    """
    model = subject.classifier.model
    directions = [
        filter_normalized_direction(model, subject.generator(i))
        for i in range(2)
    ]
    ticks = torch.linspace(-extent, extent, num_points).tolist()
    batches = [
        batch.to(subject.device)
        for batch in subject.batches.read(range(len(subject.batches)))
    ]

    @torch.no_grad()
    def measure(number: int) -> List[float]:
        y, x = divmod(number, num_points)
        loss, correct = 0., 0
        with moved(model, directions, [ticks[x], ticks[y]]):
            for batch in batches:
                logits = subject.classifier(batch.images)
                loss += F.cross_entropy(
                    logits, batch.labels, reduction='sum').item()
                correct += (logits.argmax(1) == batch.labels).sum().item()
        return [loss, correct]

    parts = map_pieces(
        measure,
        num_points**2,
        subject.folder,
        settings=subject.all_settings(extent=extent))
    values = torch.tensor(
        parts, dtype=torch.float64).view(num_points, num_points,
                                         2) / subject.batches.num_images
    return dict(
        x=ticks,
        y=ticks,
        loss=values[..., 0].tolist(),
        accuracy=values[..., 1].tolist())


def measure_attack_surface(subject: Subject,
                           radius: float = 8.,
                           num_points: int = 17) -> Dict[str, Any]:
    """Loss over the images along the attack of FGSM and at random.

    Args:
        subject (Subject): What is analysed.
        radius (float): Largest distance along both directions, in units of
            1/255. Defaults to 8.
        num_points (int): Points of the grid along a side. Defaults to 17.

    Returns:
        dict: Coordinates ``x`` along the attack and ``y`` along the random
        direction in units of 1/255, and the mean ``loss`` with a row for
        each y.
    """
    ticks = torch.linspace(-radius, radius, num_points).tolist()
    distances = [tick / 255 for tick in ticks]
    parts = subject.map_batches(
        lambda batch: attack_surface(
            subject.loss(batch.labels), batch.images, distances, distances,
            image_generators(subject.seed, batch.indices)),
        radius=radius,
        num_points=num_points)
    loss = torch.tensor(parts, dtype=torch.float64).sum(0)
    return dict(
        x=ticks, y=ticks, loss=(loss / subject.batches.num_images).tolist())
