# Copyright (c) mmstepnet contributors. All rights reserved.
"""What a network costs: parameters, operations, bytes and time."""
import io
import statistics
import time
from typing import Sequence

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
def measure_latency(model: nn.Module,
                    shape: Sequence[int],
                    repeats: int = 10) -> float:
    """Median time of a forward pass with one image on the CPU.

    Args:
        model (nn.Module): Network of images.
        shape (Sequence[int]): Channels, height and width of the image.
        repeats (int): Passes that are timed, after two that are not.
            Defaults to 10.

    Returns:
        float: Seconds.

    Raises:
        ValueError: If ``repeats`` is not positive.

    Example:
        >>> measure_latency(nn.Conv2d(3, 8, 3), (3, 8, 8), repeats=3) > 0
        True
    """
    if repeats < 1:
        raise ValueError(f'repeats must be positive, got {repeats!r}')
    training = model.training
    model.eval()
    image = torch.rand(1, *shape)
    times = []
    for _ in range(2 + repeats):
        start = time.perf_counter()
        model(image)
        times.append(time.perf_counter() - start)
    model.train(training)
    return statistics.median(times[2:])
