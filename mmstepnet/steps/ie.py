# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import ElementwiseLinear, as_gate, global_average


@MODELS.register_module()
class IE(Step):
    r"""Instance enhancement as a step, the lightest gate.

    :math:`\Delta t_c = \sigma(w_c \, \mu(f)_c + b_c)` with w = 0 and b = -1
    at the start.

    Args:
        in_channels (int): Channels C of the block's output.
        init_cfg (dict, optional): Initialization config.

    Source:
        Liang et al., "Instance Enhancement Batch Normalization: An Adaptive
        Regulator of Batch Noise", AAAI 2020.

    Example:
        >>> import torch
        >>> step = IE(64)
        >>> step.step_size(torch.rand(2, 64, 8, 8), None).shape
        torch.Size([2, 64, 1, 1])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.excite = ElementwiseLinear(in_channels)

    def input_weights(self) -> Sequence[Tensor]:
        """The weight w."""
        return [self.excite.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (N, C, 1, 1)."""
        return as_gate(self.excite(global_average(residual)))
