# Copyright (c) mmstepnet contributors. All rights reserved.
"""Numbers of the feature maps that the blocks of a network put out."""
import math
import re
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import Tensor, nn

from mmstepnet.stiffness import find_blocks

#: Name of a block and its map (N, C, H, W) to numbers (N, ...).
Reduce = Callable[[str, Tensor], Tensor]


def blocks_by_name(backbone: nn.Module,
                   pattern: Optional[str] = None) -> Dict[str, nn.Module]:
    """The blocks of a backbone in their order.

    Args:
        backbone (nn.Module): The backbone.
        pattern (str, optional): Regular expression that the whole name of a
            block matches. Defaults to None, which finds the residual blocks,
            see :func:`mmstepnet.stiffness.find_blocks`.

    Returns:
        dict[str, nn.Module]: Blocks by name.

    Raises:
        ValueError: If there is none.

    Example:
        >>> from mmstepnet.backbones import CIFARResNet
        >>> list(blocks_by_name(CIFARResNet(8, block='basic')))
        ['layer1.0', 'layer2.0', 'layer3.0']
    """
    modules = dict(backbone.named_modules())
    if pattern is None:
        names = [block.name for block in find_blocks(backbone)]
    else:
        names = [name for name in modules if re.fullmatch(pattern, name)]
    if not names:
        children = [name for name, _ in backbone.named_children()]
        wanted = 'residual blocks' if pattern is None else \
            f'modules whose names match {pattern!r}'
        raise ValueError(f'expected {wanted} in {type(backbone).__name__}, '
                         f'got none; its parts are {children}')
    return {name: modules[name] for name in names}


def as_map(output: Any) -> Tensor:
    """The output of a block as a feature map (N, C, H, W).

    Args:
        output (Tensor | tuple): A map, or tokens (N, L, C) of a square grid
            behind up to two extra ones, such as a class token.

    Returns:
        Tensor: The map.

    Raises:
        ValueError: If the output is neither.

    Example:
        >>> as_map(torch.zeros(2, 1 + 49, 8)).shape
        torch.Size([2, 8, 7, 7])
    """
    if isinstance(output, (tuple, list)):
        output = output[0]
    if output.dim() == 4:
        return output
    if output.dim() == 3:
        side = math.isqrt(output.shape[1])
        extra = output.shape[1] - side**2
        if extra <= 2:
            return output[:, extra:].mT.unflatten(2, (side, side))
    raise ValueError('expected a block to give a map (N, C, H, W) or tokens '
                     f'(N, L, C) of a square grid, got {tuple(output.shape)}')


def reduce_blocks(blocks: Dict[str, nn.Module], reduce: Reduce,
                  run: Callable[[], Any]) -> Dict[str, Tensor]:
    """What a function makes of the output of each block.

    Args:
        blocks (dict[str, nn.Module]): Blocks by name.
        reduce (Callable): Name and map (N, C, H, W) to numbers (N, ...).
        run (Callable): A forward pass through the blocks.

    Returns:
        dict[str, Tensor]: Numbers by block.
    """
    results: Dict[str, Tensor] = {}

    def watch(name: str) -> Callable[..., None]:

        def hook(module: nn.Module, args: Any, output: Any) -> None:
            results[name] = reduce(name, as_map(output).detach().float())

        return hook

    handles = [
        block.register_forward_hook(watch(name))
        for name, block in blocks.items()
    ]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return {name: results[name] for name in blocks}


def log_amplitude(maps: Tensor, eps: float = 1e-6) -> Tensor:
    r"""Log amplitude over frequency, relative to that of the mean.

    The amplitude of the two-dimensional Fourier transform along the diagonal
    of equal frequencies in both directions, from 0 to :math:`\pi`; its
    logarithm is averaged over channels, less the one at frequency 0.

    Args:
        maps (Tensor): Feature maps, (N, C, H, W).
        eps (float): Added to the amplitude. Defaults to 1e-6.

    Returns:
        Tensor: (N, F) at the :func:`frequencies` of the map.

    Source:
        Park and Kim, "How Do Vision Transformers Work?", ICLR 2022, Fig. 2.

    Example:
        >>> x = torch.arange(8.)
        >>> wave = 2 + torch.cos(torch.pi / 2 * (x[:, None] + x))
        >>> log_amplitude(wave[None, None]).exp()
        tensor([[1.0000e+00, ..., 2.5000e-01, ..., ...]])
    """
    rows, columns = (
        _diagonal(size, min(maps.shape[2:])) for size in maps.shape[2:])
    spectrum = torch.fft.fft2(maps)[..., rows, columns]
    logs = (spectrum.abs() + eps).log().mean(1)
    return logs - logs[:, :1]


def _diagonal(size: int, shorter: int) -> List[int]:
    last = shorter // 2
    return [round(i / max(last, 1) * (size // 2)) for i in range(last + 1)]


def frequencies(height: int, width: int) -> List[float]:
    r"""Frequencies of :func:`log_amplitude` in units of :math:`\pi`.

    Example:
        >>> frequencies(8, 8)
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    shorter = min(height, width)
    return [2 * i / shorter for i in range(shorter // 2 + 1)]


def feature_variance(maps: Tensor) -> Tensor:
    """Variance over space, averaged over channels.

    Args:
        maps (Tensor): Feature maps, (N, C, H, W).

    Returns:
        Tensor: Unbiased variances, (N,); 0 for maps of one pixel.

    Source:
        Park and Kim, "How Do Vision Transformers Work?", ICLR 2022, Fig. 9.

    Example:
        >>> feature_variance(torch.tensor([[[[1., 3.]]]]))
        tensor([2.])
    """
    pixels = maps.flatten(2)
    correction = min(pixels.shape[2] - 1, 1)
    return pixels.var(2, correction=correction).mean(1)
