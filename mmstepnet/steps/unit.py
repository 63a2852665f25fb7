# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

from torch import Tensor

from mmstepnet.registry import MODELS
from .base import Step


@MODELS.register_module()
class Unit(Step):
    """The step of a plain ResNet: ``identity + residual``, step size 1.

    Args:
        in_channels (int): Channels of the state.
        init_cfg (dict, optional): Initialization config.

    Example:
        >>> import torch
        >>> step = Unit(8)
        >>> step(torch.ones(2, 8, 4, 4), torch.ones(2, 8, 4, 4)).unique()
        tensor([2.])
    """

    def input_weights(self) -> Sequence[Tensor]:
        """None: it is the number one."""
        return []

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """The number one, a tensor of no dimension."""
        return residual.new_ones(())

    def forward(self,
                residual: Tensor,
                identity: Optional[Tensor] = None) -> Tensor:
        """``identity + residual``."""
        return residual if identity is None else identity + residual
