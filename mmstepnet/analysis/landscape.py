# Copyright (c) mmstepnet contributors. All rights reserved.
"""The loss around the weights of a network, and around its images."""
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, List, Sequence

import torch
from torch import Tensor, nn

from mmstepnet.robustness.attacks import Loss, ascent_direction

Direction = Dict[str, Tensor]


def filter_normalized_direction(model: nn.Module,
                                generator: torch.Generator) -> Direction:
    """A random direction in which each filter keeps its length.

    Each filter of a convolution and each row of a linear layer is a normal
    vector of the length of that filter. Parameters of one dimension, such as
    those of norms and biases, stay where they are.

    Args:
        model (nn.Module): The network.
        generator (torch.Generator): Generator on the CPU.

    Returns:
        dict[str, Tensor]: Change of every parameter.

    Source:
        Li et al., "Visualizing the Loss Landscape of Neural Nets", NeurIPS
        2018, section 4.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> direction = filter_normalized_direction(layer, torch.Generator())
        >>> torch.allclose(direction['weight'].norm(dim=1),
        ...                layer.weight.norm(dim=1))
        True
    """
    direction = {}
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            direction[name] = torch.zeros_like(parameter)
            continue
        normal = torch.randn(parameter.shape, generator=generator)
        lengths = parameter.detach().flatten(1).norm(dim=1)
        normal = normal.to(parameter).flatten(1)
        scale = lengths / normal.norm(dim=1)
        direction[name] = (normal * scale[:, None]).view_as(parameter)
    return direction


@contextmanager
def moved(model: nn.Module, directions: Sequence[Direction],
          distances: Sequence[float]) -> Iterator[None]:
    """Move the weights along directions, and back exactly.

    Args:
        model (nn.Module): The network.
        directions (Sequence[dict[str, Tensor]]): Directions.
        distances (Sequence[float]): How far along each.

    Yields:
        None: While the weights are elsewhere.
    """
    parameters = dict(model.named_parameters())
    original = {name: p.detach().clone() for name, p in parameters.items()}
    with torch.no_grad():
        for direction, distance in zip(directions, distances):
            for name, change in direction.items():
                parameters[name].add_(change, alpha=distance)
    try:
        yield
    finally:
        with torch.no_grad():
            for name, value in original.items():
                parameters[name].copy_(value)


def attack_surface(
    loss: Loss,
    images: Tensor,
    radii: Sequence[float],
    random_radii: Sequence[float],
    generators: Sequence[torch.Generator],
    direction: Callable[[Loss, Tensor], Tensor] = ascent_direction
) -> List[List[float]]:
    """Sum of the losses along an attack and along a random direction.

    Image x is moved to ``clip(x + a * attack + b * signs)`` in [0, 1], with
    random ``signs``, so both directions have the maximum norm 1.

    Args:
        loss (Callable): Loss of each image.
        images (Tensor): Images in [0, 1], (N, C, H, W).
        radii (Sequence[float]): Values of a, in units of the range 0..1.
        random_radii (Sequence[float]): Values of b.
        generators (Sequence[torch.Generator]): One for each image.
        direction (Callable): Loss and images to a direction of attack.
            Defaults to the sign of the gradient, as in FGSM.

    Returns:
        list[list[float]]: Sums, a row for each b and a column for each a.
    """
    attack = direction(loss, images)
    signs = torch.stack([
        2. * torch.randint(0, 2, images.shape[1:], generator=g) - 1
        for g in generators
    ]).to(images)
    with torch.no_grad():
        return [[
            loss((images + a * attack + b * signs).clamp(0, 1)).sum().item()
            for a in radii
        ] for b in random_radii]
