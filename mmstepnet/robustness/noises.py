# Copyright (c) mmstepnet contributors. All rights reserved.
"""The stochastic noises of CIFAR-10-C, as pure functions of pixels in [0, 1].

Source: Hendrycks and Dietterich, "Benchmarking Neural Network Robustness to
Common Corruptions and Perturbations", ICLR 2019; the severities are those of
its 32x32 images. The published files hold other draws of the same noises.
"""
from typing import Callable, Dict, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .seeds import draw, each

Generators = Optional[Sequence[torch.Generator]]

#: Strength of each noise at severities 1 to 5: standard deviations, the
#: number of photons of a white pixel, and the share of replaced values.
STRENGTHS: Dict[str, Tuple[float, ...]] = dict(
    gaussian=(0.04, 0.06, 0.08, 0.09, 0.10),
    shot=(500., 250., 100., 75., 50.),
    impulse=(0.01, 0.02, 0.03, 0.05, 0.07),
    speckle=(0.06, 0.10, 0.12, 0.16, 0.20))


def gaussian_noise(images: Tensor,
                   deviation: float,
                   generators: Generators = None) -> Tensor:
    """Add normal noise to every value."""
    return images + deviation * draw(torch.randn, images, generators)


def speckle_noise(images: Tensor,
                  deviation: float,
                  generators: Generators = None) -> Tensor:
    """Add normal noise in proportion to every value."""
    return images * (1 + deviation * draw(torch.randn, images, generators))


def shot_noise(images: Tensor,
               photons: float,
               generators: Generators = None) -> Tensor:
    """Replace every value by a count of photons, Poisson distributed."""
    counts = [
        torch.poisson(image.cpu() * photons, generator=generator)
        for image, generator in zip(images, each(generators, images))
    ]
    return torch.stack(counts).to(images) / photons


def impulse_noise(images: Tensor,
                  share: float,
                  generators: Generators = None) -> Tensor:
    """Set a share of all values to 0 or 1, salt and pepper."""
    uniform = draw(torch.rand, images, generators)
    noisy = torch.where(uniform < share / 2, 0., images)
    return torch.where(uniform >= 1 - share / 2, 1., noisy)


#: The functions that add noise to images, by the names that cases have.
NOISES: Dict[str, Callable[..., Tensor]] = dict(
    gaussian=gaussian_noise,
    shot=shot_noise,
    impulse=impulse_noise,
    speckle=speckle_noise)


def add_noise(images: Tensor,
              name: str,
              severity: int,
              generators: Generators = None) -> Tensor:
    """Noisy images with 8 bits a value, as the benchmark stores them.

    Args:
        images (Tensor): Images in [0, 1], (N, C, H, W).
        name (str): ``'gaussian'``, ``'shot'``, ``'impulse'`` or
            ``'speckle'``.
        severity (int): Severity from 1 to 5.
        generators (Sequence[torch.Generator], optional): One for each image.
            Defaults to None, the global generator.

    Returns:
        Tensor: Noisy images, clipped to [0, 1] and rounded down to multiples
        of 1/255.

    Raises:
        ValueError: If the name or the severity is unknown.

    Example:
        >>> black = torch.zeros(1, 3, 4, 4)
        >>> add_noise(black, 'shot', severity=5).max()
        tensor(0.)
    """
    if name not in NOISES:
        raise ValueError(f'noise must be one of {list(NOISES)}, got {name!r}')
    if severity not in range(1, 6):
        raise ValueError(f'severity must be from 1 to 5, got {severity!r}')
    noisy = NOISES[name](images, STRENGTHS[name][severity - 1], generators)
    return (noisy.clamp(0, 1) * 255).floor() / 255
