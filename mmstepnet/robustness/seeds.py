# Copyright (c) mmstepnet contributors. All rights reserved.
"""Random numbers that belong to an image, not to a batch or a process."""
from typing import Callable, List, Optional, Sequence

import torch
from numpy.random import SeedSequence
from torch import Tensor


def image_generators(seed: int,
                     indices: Sequence[int]) -> List[torch.Generator]:
    """A generator for each image.

    Args:
        seed (int): Seed of the evaluation.
        indices (Sequence[int]): Places of the images in their dataset.

    Returns:
        list[torch.Generator]: Generators on the CPU.

    Example:
        >>> a, b = image_generators(0, [3, 4])
        >>> c, = image_generators(0, [4])
        >>> torch.rand(2, generator=b).equal(torch.rand(2, generator=c))
        True
    """
    # PyTorch's CPU generator takes 32 bits of a seed only.
    seeds = [
        SeedSequence((seed, index)).generate_state(1)[0] for index in indices
    ]
    return [torch.Generator().manual_seed(int(state)) for state in seeds]


def draw(sample: Callable[..., Tensor],
         images: Tensor,
         generators: Optional[Sequence[torch.Generator]] = None) -> Tensor:
    """Random numbers of the shape of the images.

    Args:
        sample (Callable): ``torch.rand`` or ``torch.randn``.
        images (Tensor): Images, (N, ...).
        generators (Sequence[torch.Generator], optional): One for each image.
            Defaults to None, the global generator.

    Returns:
        Tensor: Numbers of the dtype and on the device of the images.
    """
    shape = images.shape[1:]
    numbers = [sample(shape, generator=g) for g in each(generators, images)]
    return torch.stack(numbers).to(images)


def each(generators: Optional[Sequence[torch.Generator]],
         images: Tensor) -> Sequence[Optional[torch.Generator]]:
    """The generator of each image, None for the global one."""
    return [None] * len(images) if generators is None else generators
