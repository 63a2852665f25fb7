# Copyright (c) mmstepnet contributors. All rights reserved.
"""Maps of a channel descriptor (N, C) to the logits of a gate (N, C)."""
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def is_captured() -> bool:
    """Whether a graph is made that has to hold for other inputs too."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def global_average(x: Tensor) -> Tensor:
    """Mean over space, (N, C, H, W) -> (N, C), in float32 or better."""
    dtype = x.dtype if x.dtype == torch.float64 else torch.float32
    if x.requires_grad and not is_captured():
        # the gradient of a sum is a view, that of a mean a map of its own
        return x.sum((2, 3), dtype=dtype) / (x.size(2) * x.size(3))
    return x.mean((2, 3), dtype=dtype)


def moments(x: Tensor, dim: Tuple[int, ...]) -> Tuple[Tensor, Tensor, Tensor]:
    """Mean, deviations from it and their sample variance.

    A single position, which has no sample variance, gets 0. On a CPU this
    takes a fraction of the time of ``torch.var_mean``.

    Args:
        x (Tensor): Values, in float32 or better.
        dim (tuple[int]): Dimensions to take them over, which are kept with
            size 1.

    Returns:
        tuple[Tensor]: Mean, deviations of the shape of ``x``, and variance.

    Example:
        >>> mean, deviations, variance = moments(torch.eye(2), (1, ))
        >>> mean.flatten().tolist(), variance.flatten().tolist()
        ([0.5, 0.5], [0.5, 0.5])
    """
    mean = x.sum(dim, keepdim=True)
    count = x.numel() // mean.numel()
    mean = mean / count
    deviations = x - mean
    variance = deviations.square().sum(dim, keepdim=True) / max(count - 1, 1)
    return mean, deviations, variance


def as_gate(logits: Tensor) -> Tensor:
    """Sigmoid of logits (N, C), shaped (N, C, 1, 1) to scale a map."""
    return logits.sigmoid()[..., None, None]


class ElementwiseLinear(nn.Module):
    """Instance enhancement (IE): ``weight * x + bias``, one pair a channel.

    Args:
        in_channels (int): Channels C.
        weight (float): Initial weight. Defaults to 0.
        bias (float): Initial bias. Defaults to -1.

    Source:
        Liang et al., "Instance Enhancement Batch Normalization", AAAI 2020;
        StepNet, section 4.
    """

    def __init__(self,
                 in_channels: int,
                 weight: float = 0.,
                 bias: float = -1.) -> None:
        super().__init__()
        self.initial = (weight, bias)
        self.weight = nn.Parameter(torch.empty(in_channels))
        self.bias = nn.Parameter(torch.empty(in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.constant_(self.weight, self.initial[0])
        nn.init.constant_(self.bias, self.initial[1])

    def forward(self, x: Tensor) -> Tensor:
        """(N, C) -> (N, C)."""
        return torch.addcmul(self.bias, x, self.weight)


class BottleneckMLP(nn.Module):
    """Two linear layers with a ReLU between them, C -> C / ratio -> C.

    Args:
        in_channels (int): Channels C.
        ratio (int): Reduction; the width is exactly ``C // ratio``, without
            rounding. Defaults to 16.
        bias (bool): Whether both layers have a bias. Defaults to True.
        min_width (int): Least width. Defaults to 1.

    Raises:
        ValueError: If ``ratio`` leaves no channel or ``min_width`` is not a
            positive integer.

    Source:
        Hu et al., "Squeeze-and-Excitation Networks", CVPR 2018, Eq. 3.
    """

    def __init__(self,
                 in_channels: int,
                 ratio: int = 16,
                 bias: bool = True,
                 min_width: int = 1) -> None:
        super().__init__()
        if not isinstance(ratio, int) or not 1 <= ratio <= in_channels:
            raise ValueError('ratio must be an integer from 1 to in_channels='
                             f'{in_channels}, got {ratio!r}')
        if not isinstance(min_width, int) or min_width < 1:
            raise ValueError(
                f'min_width must be a positive integer, got {min_width!r}')
        width = max(in_channels // ratio, min_width)
        self.fc1 = nn.Linear(in_channels, width, bias=bias)
        self.fc2 = nn.Linear(width, in_channels, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C) -> (N, C)."""
        x = x.to(self.fc1.weight.dtype)
        return self.fc2(F.relu(self.fc1(x), inplace=True))


def adaptive_kernel_size(in_channels: int) -> int:
    """ECA's kernel size, the odd number at abs((log2(C) + 1) / 2).

    Args:
        in_channels (int): Channels C.

    Returns:
        int: Kernel size.

    Source:
        Wang et al., "ECA-Net", CVPR 2020, Eq. 12 with gamma = 2, b = 1.

    Example:
        >>> [adaptive_kernel_size(c) for c in (64, 256, 512, 1024, 2048)]
        [3, 5, 5, 5, 7]
    """
    # bit_length gives floor(log2(C)); halves round down before the odd rule
    size = in_channels.bit_length() // 2
    return size if size % 2 else size + 1


class ChannelConv(nn.Module):
    """One-dimensional convolution across channels, without a bias.

    Args:
        in_channels (int): Channels C.
        kernel_size (int, optional): Odd kernel size. Defaults to None, which
            is :func:`adaptive_kernel_size`.

    Raises:
        ValueError: If ``kernel_size`` is not a positive odd integer.

    Source:
        Wang et al., "ECA-Net", CVPR 2020, Eq. 9.
    """

    def __init__(self,
                 in_channels: int,
                 kernel_size: Optional[int] = None) -> None:
        super().__init__()
        if kernel_size is None:
            kernel_size = adaptive_kernel_size(in_channels)
        if not isinstance(kernel_size, int) or kernel_size < 1 or \
                kernel_size % 2 == 0:
            raise ValueError('kernel_size must be a positive odd integer, '
                             f'got {kernel_size!r}')
        self.conv = nn.Conv1d(
            1, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C) -> (N, C)."""
        x = x.to(self.conv.weight.dtype)
        return self.conv(x[:, None])[:, 0]


class PooledBatchNorm(nn.BatchNorm1d):
    """Batch normalization of pooled vectors (N, C), for any N.

    One vector has no variance, and two always normalize to plus and minus
    one, whatever they hold: with fewer than three the batch statistics carry
    no information and pass no gradient. Such a batch is normalized by the
    running statistics, as in evaluation, and leaves them as they are.
    """

    min_batch = 3

    def forward(self, x: Tensor) -> Tensor:
        """(N, C) -> (N, C)."""
        x = x.to(self.weight.dtype)
        if self.training and x.size(0) < self.min_batch:
            return F.batch_norm(
                x,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                training=False,
                eps=self.eps)
        return super().forward(x)
