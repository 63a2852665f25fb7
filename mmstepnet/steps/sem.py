# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import (BottleneckMLP, ChannelConv, ElementwiseLinear,
                         as_gate, global_average)


@MODELS.register_module()
class SEM(Step):
    r"""Switchable excitation module as a step.

    Three maps excite the channel means v: that of SE, that of ECA and the
    element-wise one of IE. A decision in (0, 1) scales the logits of each,

    .. math::
        \Delta t = \prod_{i=1}^3 \sigma(d_i \, e_i(v)), \qquad
        d = \sigma(\mathrm{Linear}(v)) \in (0, 1)^3 .

    Args:
        in_channels (int): Channels C of the block's output.
        ratio (int): Reduction in SE's map. Defaults to 16.
        kernel_size (int, optional): Odd kernel size of ECA's map. Defaults to
            None, which follows the channels.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``ratio`` or ``kernel_size`` is not possible.

    Source:
        Zhong et al., "Switchable Self-attention Module", arXiv 2209.05680.

    Example:
        >>> import torch
        >>> step = SEM(64)
        >>> step.step_size(torch.rand(2, 64, 8, 8), None).shape
        torch.Size([2, 64, 1, 1])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 ratio: int = 16,
                 kernel_size: Optional[int] = None,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.se = BottleneckMLP(in_channels, ratio)
        self.eca = ChannelConv(in_channels, kernel_size)
        self.ie = ElementwiseLinear(in_channels)
        self.decide = nn.Linear(in_channels, 3)

    def input_weights(self) -> Sequence[Tensor]:
        """The last weights of the three maps and those of the decision."""
        return [
            self.se.fc2.weight, self.eca.conv.weight, self.ie.weight,
            self.decide.weight
        ]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        mean = global_average(residual).to(self.decide.weight.dtype)
        decisions = self.decide(mean).sigmoid().split(1, dim=1)
        gates = [
            as_gate(decision * excite(mean))
            for decision, excite in zip(decisions, (self.se, self.eca,
                                                    self.ie))
        ]
        return gates[0] * gates[1] * gates[2]
