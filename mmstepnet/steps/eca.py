# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import ChannelConv, as_gate, global_average


@MODELS.register_module()
class ECA(Step):
    """Efficient channel attention as a step.

    Args:
        in_channels (int): Channels C of the block's output.
        kernel_size (int, optional): Odd kernel size of the convolution
            across channels. Defaults to None, which follows the channels:
            5, 5, 5, 7 in the stages of ResNet-50. The official checkpoints
            have 3, 5, 5, 7; give the backbone's ``step`` as a list of one
            config a stage to build those.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``kernel_size`` is not a positive odd integer.

    Source:
        Wang et al., "ECA-Net: Efficient Channel Attention for Deep
        Convolutional Neural Networks", CVPR 2020.

    Example:
        >>> import torch
        >>> step = ECA(256)
        >>> step(torch.rand(2, 256, 8, 8), torch.rand(2, 256, 8, 8)).shape
        torch.Size([2, 256, 8, 8])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 kernel_size: Optional[int] = None,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.excite = ChannelConv(in_channels, kernel_size)

    def input_weights(self) -> Sequence[Tensor]:
        """The weight of the convolution."""
        return [self.excite.conv.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        return as_gate(self.excite(global_average(residual)))
