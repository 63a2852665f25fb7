# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import BottleneckMLP, as_gate, global_average


@MODELS.register_module()
class SE(Step):
    """Squeeze-and-excitation as a step.

    Args:
        in_channels (int): Channels C of the block's output.
        ratio (int): Reduction of the hidden layer. Defaults to 16.
        bias (bool): Whether both layers have a bias. Defaults to True.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``ratio`` leaves no channel.

    Source:
        Hu et al., "Squeeze-and-Excitation Networks", CVPR 2018.

    Example:
        >>> import torch
        >>> step = SE(64)
        >>> step(torch.rand(2, 64, 8, 8), torch.rand(2, 64, 8, 8)).shape
        torch.Size([2, 64, 8, 8])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 ratio: int = 16,
                 bias: bool = True,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.excite = BottleneckMLP(in_channels, ratio, bias)

    def input_weights(self) -> Sequence[Tensor]:
        """The weight of the last linear layer."""
        return [self.excite.fc2.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        return as_gate(self.excite(global_average(residual)))
