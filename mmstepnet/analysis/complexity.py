# Copyright (c) mmstepnet contributors. All rights reserved.
"""What a network costs: parameters, operations, bytes and time."""
import io
import statistics
import time
from typing import List, Sequence

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def count_parameters(model: nn.Module) -> int:
    """Number of parameters.

    Example:
        >>> count_parameters(nn.Linear(3, 2))
        8
    """
    return sum(parameter.numel() for parameter in model.parameters())


@torch.no_grad()
def count_multiply_adds(model: nn.Module, shape: Sequence[int]) -> int:
    """Multiply-adds of one image, what papers on networks call FLOPs.

    Those of convolutions, linear layers and attention; element-wise work and
    pooling are not counted. On the device ``meta`` it takes no computing.

    Args:
        model (nn.Module): Network of images.
        shape (Sequence[int]): Channels, height and width of the image.

    Returns:
        int: Multiply-adds.

    Example:
        >>> count_multiply_adds(nn.Conv2d(3, 8, 3, padding=1), (3, 10, 10))
        21600
    """
    training = model.training
    model.eval()
    device = next(model.parameters()).device
    with FlopCounterMode(display=False) as counter:
        model(torch.empty(1, *shape, device=device))
    model.train(training)
    return counter.get_total_flops() // 2


def checkpoint_size(model: nn.Module) -> int:
    """Bytes of a file with the parameters and buffers of a model.

    Example:
        >>> checkpoint_size(nn.Linear(1000, 1000)) > 4 * 1001 * 1000
        True
    """
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return file.tell()


@torch.inference_mode()
def measure_latencies(models: Sequence[nn.Module],
                      shape: Sequence[int],
                      repeats: int = 10) -> List[float]:
    """Median time of each model for one image on the CPU.

    The models take turns, so that what slows the machine down for a while
    slows them all. A pass that isn't timed goes before each that is.

    Args:
        models (Sequence[nn.Module]): Networks of images.
        shape (Sequence[int]): Channels, height and width of the image.
        repeats (int): Timed passes of each. Defaults to 10.

    Returns:
        List[float]: Seconds, one for each model.

    Raises:
        ValueError: If ``repeats`` is not positive.

    Example:
        >>> models = [nn.Conv2d(3, width, 3) for width in (8, 16)]
        >>> [t > 0 for t in measure_latencies(models, (3, 8, 8), repeats=3)]
        [True, True]
    """
    if repeats < 1:
        raise ValueError(f'repeats must be positive, got {repeats!r}')
    training = [model.training for model in models]
    image = torch.rand(1, *shape)
    times: List[List[float]] = [[] for _ in models]
    for _ in range(repeats):
        for model, own in zip(models, times):
            model.eval()(image)
            start = time.perf_counter()
            model(image)
            own.append(time.perf_counter() - start)
    for model, mode in zip(models, training):
        model.train(mode)
    return [statistics.median(own) for own in times]
