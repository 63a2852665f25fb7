# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

import torch
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import BottleneckMLP, PooledBatchNorm, as_gate, global_average


@MODELS.register_module()
class CBAM(Step):
    r"""Convolutional block attention module as a step.

    A channel gate from the mean and the maximum over space through one
    shared map, then a spatial gate from the maximum and the mean over the
    channels that the first gate scaled; the step size is their product.

    The width of the shared map is ``max(C // ratio, min_width)``. The
    authors' module has ``min_width=1``; 8 gives the parameter count that
    StepNet's paper reports for CIFAR's thin networks.

    Args:
        in_channels (int): Channels C of the block's output.
        ratio (int): Reduction of the shared map. Defaults to 16.
        min_width (int): Least width of the shared map. Defaults to 1.
        kernel_size (int): Odd kernel size of the spatial convolution.
            Defaults to 7.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``ratio`` leaves no channel, or ``kernel_size`` is not
            a positive odd integer.

    Source:
        Woo et al., "CBAM: Convolutional Block Attention Module", ECCV 2018.

    Example:
        >>> import torch
        >>> step = CBAM(64)
        >>> step.step_size(torch.rand(2, 64, 8, 8), None).shape
        torch.Size([2, 64, 8, 8])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 ratio: int = 16,
                 min_width: int = 1,
                 kernel_size: int = 7,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        if not isinstance(kernel_size, int) or kernel_size < 1 or \
                kernel_size % 2 == 0:
            raise ValueError('kernel_size must be a positive odd integer, '
                             f'got {kernel_size!r}')
        self.excite = BottleneckMLP(in_channels, ratio, min_width=min_width)
        self.conv = nn.Conv2d(
            2, 1, kernel_size, padding=kernel_size // 2, bias=False)
        self.norm = PooledBatchNorm(1, momentum=0.01)

    def input_weights(self) -> Sequence[Tensor]:
        """The last weights of the channel gate and of the spatial gate."""
        return [self.excite.fc2.weight, self.norm.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size, (N, C, H, W), in the dtype of the parameters."""
        channel_gate = as_gate(
            self.excite(global_average(residual)) +
            self.excite(residual.amax((2, 3))))
        scaled = residual * channel_gate
        pooled = torch.stack((scaled.amax(1), scaled.mean(1)), dim=1)
        logits = self.conv(pooled.to(self.conv.weight.dtype))
        logits = self.norm(logits.reshape(-1, 1)).view_as(logits)
        return channel_gate * logits.sigmoid()
