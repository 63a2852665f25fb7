# Copyright (c) mmstepnet contributors. All rights reserved.
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Dict, List, Sequence

import torch
from torch import Tensor

from mmstepnet.evaluation import PixelBatch
from .attacks import Loss, fgsm, ifgsm, pgd
from .noises import NOISES, add_noise
from .seeds import image_generators

#: Radii of the attacks, in units of 1/255 as their step size is.
RADII = (1., 2., 4.)
ALPHA = 2.
STEPS = 20

#: The attacks, each a group of cases.
ATTACKS = ('fgsm', 'ifgsm', 'pgd')

#: Loss, images and one generator for each image to perturbed images.
Perturb = Callable[[Loss, Tensor, List[torch.Generator]], Tensor]


@dataclass(frozen=True)
class Case:
    """One way to perturb images, at one level.

    Attributes:
        group (str): Name of the attack or noise, ``'clean'`` for none.
        level (float): Radius of an attack in units of 1/255, or severity of
            a noise.
        perturb (Callable): Does it.
        detail (str): What else it depends on.
    """
    group: str
    level: float
    perturb: Perturb = field(compare=False, repr=False)
    detail: str = ''

    @property
    def name(self) -> str:
        """Name that tells it from all others."""
        return f'{self.group}@{self.level:g}'

    @property
    def is_attack(self) -> bool:
        """Whether ``level`` is a radius."""
        return self.group in ATTACKS

    def __call__(self, loss: Loss, batch: PixelBatch, seed: int) -> Tensor:
        """Perturbed images.

        Args:
            loss (Callable): Loss of each image, (N, C, H, W) -> (N,).
            batch (PixelBatch): The batch.
            seed (int): Seed of the evaluation.

        Returns:
            Tensor: Images in [0, 1], (N, C, H, W).
        """
        generators = image_generators(seed, batch.indices)
        return self.perturb(loss, batch.images, generators)


def clean_case() -> Case:
    """The images as they are."""
    return Case('clean', 0, lambda loss, images, generators: images)


def attack_case(name: str,
                radius: float,
                alpha: float = ALPHA,
                steps: int = STEPS) -> Case:
    """An attack.

    Args:
        name (str): ``'fgsm'``, ``'ifgsm'`` or ``'pgd'``.
        radius (float): Radius in the maximum norm, in units of 1/255.
        alpha (float): Step size of the iterated attacks, in units of 1/255.
            Defaults to 2.
        steps (int): Their number of steps. Defaults to 20.

    Returns:
        Case: The case.

    Raises:
        ValueError: If the name is unknown.

    Example:
        >>> attack_case('pgd', radius=2).name
        'pgd@2'
    """
    if name not in ATTACKS:
        raise ValueError(f'attack must be one of {ATTACKS}, got {name!r}')
    if radius < 0 or steps < 1:
        raise ValueError(
            'attacks need a radius of at least 0 and at least one '
            f'of steps, got radius {radius} and steps {steps}')
    radius_, alpha_ = radius / 255, alpha / 255
    perturbs: Dict[str, Perturb] = dict(
        fgsm=lambda loss, images, _: fgsm(loss, images, radius_),
        ifgsm=lambda loss, images, _: ifgsm(loss, images, radius_, alpha_,
                                            steps),
        pgd=lambda loss, images, generators: pgd(loss, images, radius_, alpha_,
                                                 steps, generators))
    detail = '' if name == 'fgsm' else f'{steps} steps of {alpha:g}/255'
    return Case(name, radius, perturbs[name], detail)


def noise_case(name: str, severity: int) -> Case:
    """A noise of CIFAR-10-C, see :func:`~mmstepnet.robustness.add_noise`.

    Args:
        name (str): Name of the noise.
        severity (int): Severity from 1 to 5.

    Returns:
        Case: The case.

    Raises:
        ValueError: If the name or the severity is unknown.
    """
    add_noise(torch.zeros(1, 1), name, severity)
    noise = partial(add_noise, name=name, severity=severity)
    return Case(
        name, severity,
        lambda loss, images, generators: noise(images, generators=generators))


def standard_cases(attacks: Sequence[str] = ATTACKS,
                   radii: Sequence[float] = RADII,
                   noises: Sequence[str] = tuple(NOISES),
                   severities: Sequence[int] = (1, 2, 3, 4, 5),
                   alpha: float = ALPHA,
                   steps: int = STEPS) -> List[Case]:
    """The clean images and every attack and noise at every level.

    Args:
        attacks (Sequence[str]): Names of attacks. Defaults to all three.
        radii (Sequence[float]): Their radii, in units of 1/255. Defaults to
            1, 2 and 4.
        noises (Sequence[str]): Names of noises. Defaults to all four.
        severities (Sequence[int]): Their severities. Defaults to 1 to 5.
        alpha (float): Step size of iterated attacks, in units of 1/255.
        steps (int): Their number of steps.

    Returns:
        list[Case]: The cases.

    Source:
        Yang et al., "Interpolation between Residual and Non-Residual
        Networks", ICML 2020, whose attacks and noises these are.

    Example:
        >>> len(standard_cases())
        30
    """
    cases = [clean_case()]
    cases += [
        attack_case(name, radius, alpha, steps) for name in attacks
        for radius in radii
    ]
    cases += [
        noise_case(name, severity) for name in noises
        for severity in severities
    ]
    return cases
