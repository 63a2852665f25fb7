# Copyright (c) mmstepnet contributors. All rights reserved.
import torch
from torch import Tensor, nn

from mmstepnet.arguments import CheckedArguments
from mmstepnet.registry import MODELS
from mmstepnet.steps.excitation import (ElementwiseLinear, as_gate,
                                        global_average)


@MODELS.register_module()
class IEBN(CheckedArguments, nn.BatchNorm2d):
    r"""Instance-enhancement batch normalization.

    The scale of a batch norm is gated by the mean over space of its input,

    .. math:: y = \mathrm{BN}(x) \, \gamma \, \sigma(w \, \mu(x) + b) + \beta ,

    with two more parameters a channel, w = 0 and b = -1 at the start. The
    paper puts it in place of the norms of the residual branches and of the
    stem, while shortcuts keep BN. A config says so by ``norm_cfg=dict(type=
    'mmstepnet.IEBN'), downsample_norm_cfg=dict(type='BN')``.

    It is a batch norm to ``norm_eval`` and to checkpoints: the weights of a
    plain network load, the gate (``bn1.excite.*``) keeps its start, and
    ``frozen_stages`` freezes it there. The runner's ``sync_bn`` would replace
    it by a batch norm without a gate: leave that unset.

    Args:
        num_features (int): Channels C.
        eps (float): Added to the variance. Defaults to 1e-5.
        momentum (float): Of the running statistics. Defaults to 0.1.

    Source:
        Liang et al., "Instance Enhancement Batch Normalization: An Adaptive
        Regulator of Batch Noise", AAAI 2020.

    Example:
        >>> import torch
        >>> IEBN(8)(torch.rand(2, 8, 4, 4)).shape
        torch.Size([2, 8, 4, 4])
    """

    _abbr_ = 'bn'

    def __init__(self,
                 num_features: int,
                 eps: float = 1e-5,
                 momentum: float = 0.1) -> None:
        super().__init__(num_features, eps=eps, momentum=momentum)
        self.excite = ElementwiseLinear(num_features)

    @torch.no_grad()
    def make_gate_constant(self) -> Tensor:
        """Make the gate a constant that training can change; return it.

        Returns:
            Tensor: The gate, (C,).
        """
        self.excite.weight.zero_()
        return self.excite.bias.sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C, H, W)."""
        gate = as_gate(self.excite(global_average(x)))
        normed = super().forward(x)
        shift = self.bias[:, None, None].to(normed.dtype)
        return torch.lerp(shift, normed, gate.to(normed.dtype))
