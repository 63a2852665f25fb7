# Copyright (c) mmstepnet contributors. All rights reserved.
r"""Attacks in the maximum norm, as pure functions of pixels in [0, 1].

``loss`` takes images (N, C, H, W) and gives the loss of each, (N,), which
the attacks increase. Whatever rounding does, no pixel moves further than
``radius`` or leaves [0, 1].
"""
from typing import Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .seeds import draw

Loss = Callable[[Tensor], Tensor]


class Box(NamedTuple):
    """Lower and upper bound of every pixel."""
    lower: Tensor
    upper: Tensor

    def clip(self, images: Tensor) -> Tensor:
        """The nearest images inside."""
        return images.clamp(self.lower, self.upper)


def linf_ball(images: Tensor, radius: float) -> Box:
    """Images that differ by at most ``radius`` in any pixel, within [0, 1].

    Args:
        images (Tensor): Centres, (N, C, H, W), in [0, 1].
        radius (float): Radius in units of the pixel range 0..1.

    Returns:
        Box: The ball; its bounds are rounded towards the centre.

    Raises:
        ValueError: If ``radius`` is negative.

    Example:
        >>> linf_ball(torch.tensor([0., 0.5]), 0.25).upper
        tensor([0.2500, 0.7500])
    """
    if radius < 0:
        raise ValueError(f'radius must not be negative, got {radius}')
    bounds = []
    exact = images.double()
    for sign in (-1, 1):
        bound = (exact + sign * radius).to(images.dtype)
        too_far = (bound.double() - exact).abs() > radius
        bounds.append(
            torch.where(too_far, bound.nextafter(images), bound).clamp(0, 1))
    return Box(*bounds)


def ascent_direction(loss: Loss, images: Tensor) -> Tensor:
    """Sign of the gradient of every image's loss, (N, C, H, W)."""
    with torch.enable_grad():
        images = images.detach().requires_grad_()
        return torch.autograd.grad(loss(images).sum(), images)[0].sign()


def fgsm(loss: Loss, images: Tensor, radius: float) -> Tensor:
    """Fast gradient sign method: one step of size ``radius``.

    Args:
        loss (Callable): Loss of each image.
        images (Tensor): Images in [0, 1], (N, C, H, W).
        radius (float): Radius in units of the pixel range 0..1.

    Returns:
        Tensor: Attacked images.

    Source:
        Goodfellow et al., "Explaining and Harnessing Adversarial Examples",
        ICLR 2015.

    Example:
        >>> fgsm(lambda x: x.flatten(1).sum(1), torch.full((1, 1, 1, 2), .5),
        ...      0.25)
        tensor([[[[0.7500, 0.7500]]]])
    """
    return _climb(loss, images, linf_ball(images, radius), radius, 1)


def ifgsm(loss: Loss,
          images: Tensor,
          radius: float,
          alpha: float = 2 / 255,
          steps: int = 20) -> Tensor:
    """Iterated FGSM: steps of size ``alpha``, each back into the ball.

    Args:
        loss (Callable): Loss of each image.
        images (Tensor): Images in [0, 1], (N, C, H, W).
        radius (float): Radius in units of the pixel range 0..1.
        alpha (float): Size of a step. Defaults to 2/255.
        steps (int): Number of steps. Defaults to 20.

    Returns:
        Tensor: Attacked images.

    Source:
        Kurakin et al., "Adversarial Examples in the Physical World", ICLR
        workshop 2017.
    """
    return _climb(loss, images, linf_ball(images, radius), alpha, steps)


def pgd(loss: Loss,
        images: Tensor,
        radius: float,
        alpha: float = 2 / 255,
        steps: int = 20,
        generators: Optional[Sequence[torch.Generator]] = None) -> Tensor:
    """Projected gradient descent: iterated FGSM from a random start.

    Args:
        loss (Callable): Loss of each image.
        images (Tensor): Images in [0, 1], (N, C, H, W).
        radius (float): Radius in units of the pixel range 0..1.
        alpha (float): Size of a step. Defaults to 2/255.
        steps (int): Number of steps. Defaults to 20.
        generators (Sequence[torch.Generator], optional): One for the start
            of each image. Defaults to None, the global generator.

    Returns:
        Tensor: Attacked images.

    Source:
        Madry et al., "Towards Deep Learning Models Resistant to Adversarial
        Attacks", ICLR 2018.
    """
    ball = linf_ball(images, radius)
    uniform = draw(torch.rand, images, generators)
    start = ball.clip(images + radius * (2 * uniform - 1))
    return _climb(loss, start, ball, alpha, steps)


def _climb(loss: Loss, images: Tensor, ball: Box, alpha: float,
           steps: int) -> Tensor:
    for _ in range(steps):
        step = alpha * ascent_direction(loss, images)
        images = ball.clip(images + step)
    return images.detach()
