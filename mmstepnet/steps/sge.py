# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence

import torch
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import moments


@MODELS.register_module()
class SGE(Step):
    r"""Spatial group-wise enhancement as a step.

    In each group of channels, the similarity of every position to the
    group's mean vector is normalized over space, then scaled and shifted by
    two parameters a group before the sigmoid.

    Args:
        in_channels (int): Channels C of the block's output.
        groups (int): Groups G. Defaults to 64.
        eps (float): Added to the standard deviation. Defaults to 1e-5.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``in_channels`` doesn't divide into ``groups``.

    Source:
        Li et al., "Spatial Group-wise Enhance", arXiv 1905.09646, Eq. 1-5;
        the start of weight 0 and bias 1 is that of its authors' code.

    Example:
        >>> import torch
        >>> step = SGE(128, groups=32)
        >>> step.step_size(torch.rand(2, 128, 8, 8), None).shape
        torch.Size([2, 128, 8, 8])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 groups: int = 64,
                 eps: float = 1e-5,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        if not isinstance(groups, int) or groups < 1 or in_channels % groups:
            raise ValueError('groups must divide in_channels='
                             f'{in_channels}, got {groups!r}')
        self.groups = groups
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(groups))
        self.bias = nn.Parameter(torch.empty(groups))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 0, bias 1."""
        nn.init.zeros_(self.weight)
        nn.init.ones_(self.bias)

    def input_weights(self) -> Sequence[Tensor]:
        """The scale of the normalized similarity."""
        return [self.weight]

    def group_step_size(self, residual: Tensor) -> Tensor:
        """Step size of every group, (N, G, 1, H, W), float32 or better."""
        n, _, h, w = residual.shape
        x = residual.to(torch.promote_types(residual.dtype, torch.float32))
        x = x.reshape(n * self.groups, -1, h * w)
        # the meta device, on which operations are counted, has no autocast
        device = 'cpu' if x.is_meta else x.device.type
        with torch.autocast(device, enabled=False):
            similarity = x.mean(-1)[:, None] @ x
        similarity = similarity.view(n, self.groups, h * w)
        _, centred, variance = moments(similarity, (-1, ))
        # the root has no second derivative at 0
        is_flat = variance == 0
        deviation = variance.masked_fill(is_flat,
                                         1).sqrt().masked_fill(is_flat, 0)
        logits = torch.addcmul(self.bias[:, None],
                               centred / (deviation + self.eps),
                               self.weight[:, None])
        return logits.sigmoid().view(n, self.groups, 1, h, w)

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every position, (N, C, H, W), float32 or better."""
        size = self.group_step_size(residual)
        return size.expand(-1, -1, self.in_channels // self.groups, -1,
                           -1).flatten(1, 2)

    def forward(self,
                residual: Tensor,
                identity: Optional[Tensor] = None) -> Tensor:
        """The next state, without a map of step sizes for each channel."""
        grouped = residual.unflatten(1, (self.groups, -1))
        size = self.group_step_size(residual).to(residual.dtype)
        if identity is None:
            return (grouped * size).flatten(1, 2)
        return torch.addcmul(
            identity.unflatten(1, (self.groups, -1)), grouped,
            size).flatten(1, 2)
