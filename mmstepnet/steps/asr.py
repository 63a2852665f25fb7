# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional, Sequence, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmstepnet.registry import MODELS
from .base import Step
from .builder import build_step
from .sge import SGE


@MODELS.register_module()
class ASR(Step):
    r"""Attention of a learned vector: a step that folds away.

    Another step looks at a learned vector :math:`\psi` instead of the maps,
    so that its size :math:`g(\psi)` is the same for all inputs. Trained, it
    is a constant a channel, and
    :func:`~mmstepnet.folding.fold_steps` multiplies the block's last batch
    norm by it: the network is then a plain ResNet.

    A vector is a map of a single pixel. It has no deviation over space (what
    SRM sees of it is its mean) and none over the batch: batch norms inside
    the step stay in evaluation mode, where the running statistics with which
    they start make them a scale and a shift.

    Args:
        in_channels (int): Channels C of the block's output.
        gate (str | dict): The step that looks at :math:`\psi`. One that
            looks at the state too, as StepNet does, gets a second vector for
            it. Defaults to ``'SE'``.
        init (float): Initial value of :math:`\psi`. Defaults to 0.1.
        init_cfg (dict, optional): Initialization config.

    Raises:
        ValueError: If ``gate`` is not a step that chooses a step size.

    Source:
        Zhong et al., "ASR: Attention-alike Structural Re-parameterization",
        arXiv 2304.06345.

    Example:
        >>> step = ASR(8, gate=dict(type='ECA'))
        >>> step(torch.rand(2, 8, 4, 4), torch.rand(2, 8, 4, 4)).shape
        torch.Size([2, 8, 4, 4])
        >>> constant = step.step_size(torch.rand(2, 8, 4, 4), None)
        >>> constant.shape
        torch.Size([1, 8, 1, 1])
    """

    def __init__(self,
                 in_channels: int,
                 *,
                 gate: Union[str, dict] = 'SE',
                 init: float = 0.1,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(in_channels, init_cfg=init_cfg)
        self.gate = build_step(gate, in_channels)
        # SGE normalizes over space: of one pixel it sees nothing
        if not self.gate.input_weights() or isinstance(self.gate, (ASR, SGE)):
            raise ValueError('gate must be a step whose size depends on the '
                             f'vector that it looks at, got {gate!r}')
        self.init = init
        self.psi = nn.Parameter(
            torch.empty(1 + self.gate.needs_identity, in_channels, 1, 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the step inside anew; start the vector at ``init``."""
        self.gate.reset_parameters()
        nn.init.constant_(self.psi, self.init)

    def train(self, mode: bool = True) -> 'ASR':
        """Set the mode; batch norms inside keep their statistics."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, _BatchNorm):
                module.eval()
        return self

    def input_weights(self) -> Sequence[Tensor]:
        """None: the step size doesn't depend on the input."""
        return []

    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """Step size of every channel, (1, C, 1, 1)."""
        state = self.psi[1:] if self.gate.needs_identity else None
        return self.gate.step_size(self.psi[:1], state)
