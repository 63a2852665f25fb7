# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step


@MODELS.register_module()
class InResNet(Step):
    r"""Damped residual step, between a residual and a plain network.

    With a damping :math:`r \ge 0` the next state is

    .. math:: x_{t+1} = (1 - r) \, x_t + f(x_t) ,

    a residual block for r = 0 and a block without a shortcut for r = 1, both
    exactly. As a step of size 1 its derivative is :math:`f(x_t) - r x_t`.
    The damping is learned, one number ``lam`` a block:

    * ``'relu'``: :math:`r = \mathrm{ReLU}(\lambda)`;
    * ``'sigmoid'``: :math:`r = \sigma(\lambda)`;
    * ``'gating'``: :math:`r = \mathrm{ReLU}(w \cdot x_t + \lambda)` at every
      position, with one weight a channel that starts at zero.

    A damping that reaches 0 through the ReLU gets no gradient any more, so a
    network that starts at ``init_range=(0., 0.)``, as one that takes over the
    weights of a plain ResNet does, keeps the function of that ResNet and
    never learns to damp: start slightly above instead, for example at
    ``(0.01, 0.02)``.

    Weight decay acts on ``lam`` as on any parameter and draws it to less
    damping (to r = 1/2 with ``'sigmoid'``). To exempt it, set in the config
    ``optim_wrapper=dict(paramwise_cfg=dict(custom_keys={'step.lam':
    dict(decay_mult=0.)}))``.

    Args:
        in_channels (int): Channels C of the state.
        damping (str): ``'relu'``, ``'sigmoid'`` or ``'gating'``. Defaults to
            ``'relu'``.
        init_range (tuple[float, float]): Interval from which the first
            damping is drawn, within [0, 1]. Defaults to (0.2, 0.25); the
            paper takes (0.1, 0.2) for 164 layers.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``damping`` or ``init_range`` is not possible.

    Source:
        Yang et al., "Interpolation between Residual and Non-Residual
        Networks", ICML 2020, In-ResNet.

    Example:
        >>> import torch
        >>> step = InResNet(8, init_range=(0.2, 0.2))
        >>> step(torch.ones(1, 8, 2, 2), torch.ones(1, 8, 2, 2)).unique()
        tensor([1.8000], grad_fn=<Unique2Backward0>)
    """

    needs_identity = True
    at_shape_change = False
    damping_names = ('relu', 'sigmoid', 'gating')

    def __init__(self,
                 in_channels: int,
                 *,
                 damping: str = 'relu',
                 init_range: Tuple[float, float] = (0.2, 0.25),
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        if damping not in self.damping_names:
            raise ValueError(f'damping must be one of {self.damping_names}, '
                             f'got {damping!r}')
        if len(init_range) != 2 or \
                not 0 <= init_range[0] <= init_range[1] <= 1:
            raise ValueError('init_range must be two numbers a <= b in '
                             f'[0, 1], got {init_range!r}')
        self.kind = damping
        self.init_range = tuple(init_range)
        self.lam = nn.Parameter(torch.empty(1))
        if damping == 'gating':
            self.weight = nn.Parameter(torch.empty(in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first damping; a gate starts without a look at x."""
        with torch.no_grad():
            self.lam.uniform_(*self.init_range)
            if self.kind == 'sigmoid':
                # finite, yet with a sigmoid of exactly 0 or 1 in float32
                self.lam.logit_().clamp_(-104, 104)
            elif self.kind == 'gating':
                self.weight.zero_()

    def damping(self, identity: Tensor) -> Tensor:
        """The damping r.

        Args:
            identity (Tensor): State, (N, C, H, W).

        Returns:
            Tensor: (1,), or (N, 1, H, W) for ``'gating'``.
        """
        if self.kind == 'sigmoid':
            return self.lam.sigmoid().to(identity.dtype)
        lam: Tensor = self.lam
        if self.kind == 'gating':
            weight = self.weight.to(identity.dtype)[None, :, None, None]
            lam = F.conv2d(identity, weight) + lam
        return F.relu(lam).to(identity.dtype)

    def scaled_residual(self, residual: Tensor, damping: Tensor) -> Tensor:
        """The residual as it enters the next state, (N, C, H, W)."""
        return residual

    def input_weights(self) -> Sequence[Tensor]:
        """Those of the gate, through which the state enters the damping."""
        return [self.weight] if self.kind == 'gating' else []

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """The number one, a tensor of no dimension."""
        return residual.new_ones(())

    def derivative(self, residual: Tensor,
                   identity: Optional[Tensor]) -> Tensor:
        """Scaled residual less the damped state, float32 or better."""
        if identity is None:
            raise ValueError(f'{type(self).__name__} needs the state, got '
                             'none')
        dtype = torch.promote_types(identity.dtype, torch.float32)
        residual, identity = residual.to(dtype), identity.to(dtype)
        damping = self.damping(identity)
        return self.scaled_residual(residual, damping) - identity * damping

    def forward(self,
                residual: Tensor,
                identity: Optional[Tensor] = None) -> Tensor:
        """The next state, exact at a damping of 0 and of 1."""
        if identity is None:
            return super().forward(residual)
        damping = self.damping(identity)
        return torch.addcmul(
            self.scaled_residual(residual, damping), identity, 1 - damping)


@MODELS.register_module()
class LambdaInResNet(InResNet):
    r"""Damped residual step that makes up for its damping.

    The next state is :math:`(1 - r) \, x_t + (1 + r) \, f(x_t)`: a residual
    block for r = 0, and :math:`2 f(x_t)` without a shortcut for r = 1.

    Args:
        in_channels (int): Channels C of the state.
        **kwargs: Arguments of :class:`InResNet`.

    Source:
        Yang et al., "Interpolation between Residual and Non-Residual
        Networks", ICML 2020, lambda-In-ResNet.

    Example:
        >>> import torch
        >>> step = LambdaInResNet(8, init_range=(0.2, 0.2))
        >>> step(torch.ones(1, 8, 2, 2), torch.zeros(1, 8, 2, 2)).unique()
        tensor([1.2000], grad_fn=<Unique2Backward0>)
    """

    def scaled_residual(self, residual: Tensor, damping: Tensor) -> Tensor:
        """The residual times ``1 + r``, (N, C, H, W)."""
        return residual * (1 + damping)
