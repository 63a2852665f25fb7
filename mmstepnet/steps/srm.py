# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

import torch
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import PooledBatchNorm, as_gate, moments


@MODELS.register_module()
class SRM(Step):
    r"""Style-based recalibration as a step.

    Two weights a channel combine its mean and its standard deviation over
    space; a batch norm and the sigmoid follow. The deviation is the unbiased
    one with ``eps`` added to the variance; a map of one position has none.

    Its parameters are meant to have no weight decay, which a config says by
    ``optim_wrapper=dict(paramwise_cfg=dict(custom_keys={'.step.':
    dict(decay_mult=0.)}))``.

    Args:
        in_channels (int): Channels C of the block's output.
        eps (float): Added to the variance. Defaults to 1e-5.
        init_cfg (dict, optional): Initialization config.

    Source:
        Lee et al., "SRM: A Style-based Recalibration Module for
        Convolutional Neural Networks", ICCV 2019.

    Example:
        >>> import torch
        >>> step = SRM(64)
        >>> step.step_size(torch.rand(2, 64, 8, 8), None).unique()
        tensor([0.5000], grad_fn=<Unique2Backward0>)
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 eps: float = 1e-5,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(in_channels, 2))
        self.norm = PooledBatchNorm(in_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights 0."""
        super().reset_parameters()
        nn.init.zeros_(self.weight)

    def input_weights(self) -> Sequence[Tensor]:
        """The weights of the mean and of the deviation."""
        return [self.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size, (N, C, 1, 1), in the dtype of the parameters."""
        x = residual.to(torch.promote_types(residual.dtype, torch.float32))
        mean, _, variance = moments(x, (2, 3))
        style = torch.cat((mean, (variance + self.eps).sqrt()), dim=2)
        style = style.squeeze(-1) * self.weight
        return as_gate(self.norm(style.sum(-1)))
