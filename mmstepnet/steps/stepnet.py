# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from typing import Optional, Sequence

import torch
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .base import Step
from .excitation import (ElementwiseLinear, PooledBatchNorm, as_gate,
                         global_average)


@MODELS.register_module()
class StepNet(Step):
    r"""StepNet's adaptor: a step size from the present and the next state.

    With the coarse next state :math:`x_{t+1} = x_t + f(x_t)` and means over
    space :math:`\mu(\cdot)`, channel c takes the step

    .. math::
        z_c &= u_c \, \mu(x_t)_c + v_c \, \mu(x_{t+1})_c \\
        \Delta t_c &= \sigma(W_c \, \mathrm{BN}(z)_c + b_c)

    where u and v are a convolution of kernel size 1 in C groups without a
    bias. Six parameters a channel; :math:`W = 0` and :math:`b = -1` at the
    start, so that the first step size is :math:`\sigma(-1) = 0.2689`.
    Pooling is linear, :math:`\mu(x_{t+1}) = \mu(x_t) + \mu(f(x_t))`, so the
    coarse state is never materialized.

    With one or two images a process the batch norm uses its running
    statistics (see :class:`~mmstepnet.steps.excitation.PooledBatchNorm`), and
    every parameter still trains. ``sync_bn='torch'`` in the runner's config
    makes it use the images of all processes instead.

    Args:
        in_channels (int): Channels C of the state.
        inputs (str): What the adaptor sees: ``'both'`` states, or for
            ablation only the ``'current'`` one, only the ``'next'`` one, or
            their ``'difference'``. Defaults to ``'both'``.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``inputs`` is unknown.

    Source:
        Huang et al., "Understanding Self-attention Mechanism via Dynamical
        System Perspective", ICCV 2023, section 4.

    Example:
        >>> import torch
        >>> step = StepNet(64)
        >>> residual = identity = torch.rand(2, 64, 8, 8)
        >>> step.step_size(residual, identity).shape
        torch.Size([2, 64, 1, 1])
        >>> step(residual, identity).shape
        torch.Size([2, 64, 8, 8])
    """

    needs_identity = True
    at_shape_change = False
    input_names = ('both', 'current', 'next', 'difference')

    def __init__(self,
                 in_channels: int,
                 *,
                 inputs: str = 'both',
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        if inputs not in self.input_names:
            raise ValueError(f'inputs must be one of {self.input_names}, got '
                             f'{inputs!r}')
        self.inputs = inputs
        num_inputs = 2 if inputs == 'both' else 1
        self.weight = nn.Parameter(torch.empty(in_channels, num_inputs))
        self.norm = PooledBatchNorm(in_channels)
        self.excite = ElementwiseLinear(in_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the convolution anew; W = 0, b = -1."""
        super().reset_parameters()
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def descriptor(self, residual: Tensor, identity: Tensor) -> Tensor:
        """What the batch norm gets, the descriptor z.

        Args:
            residual (Tensor): Output of the residual branch, (N, C, H, W).
            identity (Tensor): Present state, (N, C, H, W).

        Returns:
            Tensor: Descriptor, (N, C).
        """
        weights = self.weight.unbind(-1)
        if self.inputs == 'current':
            return global_average(identity) * weights[0]
        # first the residual: the norm has just written it
        change = global_average(residual)
        if self.inputs == 'difference':
            return change * weights[0]
        current = global_average(identity)
        if self.inputs == 'next':
            return (current + change) * weights[0]
        # u * current + v * (current + change)
        return torch.addcmul(current * (weights[0] + weights[1]), change,
                             weights[1])

    def input_weights(self) -> Sequence[Tensor]:
        """The W of the map ``W * v + b``."""
        return [self.excite.weight]

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size, (N, C, 1, 1), in the dtype of the parameters."""
        # never without the state, see `needs_identity`
        z = self.descriptor(residual, identity)  # type: ignore[arg-type]
        return as_gate(self.excite(self.norm(z)))
