# Copyright (c) mmstepnet contributors. All rights reserved.
from abc import abstractmethod
from typing import Optional, Sequence

from mmengine.model import BaseModule
from torch import Tensor

from mmstepnet.arguments import CheckedArguments
from .scaled_add import scaled_add


class Step(CheckedArguments, BaseModule):
    r"""How a residual block moves from its state to the next one.

    A residual block is one step of a numerical solver,

    .. math::
        x_{t+1} = x_t + \dot{x}_t \, \Delta t ,

    with the state :math:`x_t` (``identity``), the output of the residual
    branch :math:`f(x_t)` (``residual``), the derivative :math:`\dot{x}_t`,
    which is :math:`f(x_t)` unless a step says otherwise, and the step size
    :math:`\Delta t`, which is what channel attention computes. A subclass
    overrides :meth:`step_size`; nothing else is needed for an attention.

    A step that doesn't look at the state (``needs_identity = False``) also
    works as a plugin of a stock ``mmdet.ResNet``: called with one argument it
    returns ``residual * step_size``. Behind the last convolution
    (``position='after_conv3'``) its parameters get the names that they have
    in our backbones, ``layer1.0.step.*``.

    Args:
        in_channels (int): Channels C of ``residual`` and ``identity``.
        init_cfg (dict, optional): Initialization config of MMEngine.

    Raises:
        TypeError: If an argument is unknown or of another type.
        ValueError: If ``in_channels`` is not positive.

    Source:
        Huang et al., "Understanding Self-attention Mechanism via Dynamical
        System Perspective", ICCV 2023, Eq. 3-5.
    """

    _abbr_ = 'step'

    #: Whether :meth:`step_size` looks at the state.
    needs_identity: bool = False
    #: Whether the step is placed by default in blocks that change the shape,
    #: whose state is the output of the ``downsample`` branch.
    at_shape_change: bool = True
    #: Whether the last loaded checkpoint held all parameters of this step.
    is_loaded: bool = False

    def __init__(self,
                 in_channels: int,
                 *,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(init_cfg)
        if in_channels < 1:
            raise ValueError('in_channels must be a positive integer, got '
                             f'{in_channels!r}')
        self.in_channels = in_channels

    @abstractmethod
    def step_size(self, residual: Tensor,
                  identity: Optional[Tensor]) -> Tensor:
        """The step size, of a shape that broadcasts to ``residual``.

        Args:
            residual (Tensor): Output of the residual branch, (N, C, H, W).
            identity (Tensor, optional): State, of the same shape.

        Returns:
            Tensor: Step size, for example (N, C, 1, 1).
        """

    def derivative(self, residual: Tensor,
                   identity: Optional[Tensor]) -> Tensor:
        """What the step size multiplies, (N, C, H, W)."""
        return residual

    def forward(self,
                residual: Tensor,
                identity: Optional[Tensor] = None) -> Tensor:
        """The next state, before the block's last activation.

        Args:
            residual (Tensor): Output of the residual branch, (N, C, H, W).
            identity (Tensor, optional): State, of the same shape. Without
                it the step acts as a plugin and returns its increment.

        Returns:
            Tensor: Next state, (N, C, H, W).

        Raises:
            ValueError: If the step needs the state and got none.
        """
        if identity is None:
            if self.needs_identity:
                raise ValueError(
                    f'{type(self).__name__} needs the identity branch, got '
                    'none: it works in the `step` slot of mmstepnet\'s '
                    'backbones, not as a plugin of another ResNet')
            return residual * self.step_size(residual, None).to(residual.dtype)
        step_size = self.step_size(residual, identity).to(residual.dtype)
        return scaled_add(identity, self.derivative(residual, identity),
                          step_size)

    def input_weights(self) -> Optional[Sequence[Tensor]]:
        """The weights through which the input enters the step size.

        Returns:
            Sequence[Tensor], optional: Weights; with all of them zero the
            step size is a constant, and they still get a gradient. Empty if
            it always is one, None if no such weights are known.
        """
        return None

    def reset_parameters(self) -> None:
        """Draw the parameters anew from the step's own initialization."""
        for module in self.modules():
            if module is not self and hasattr(module, 'reset_parameters'):
                module.reset_parameters()

    def init_weights(self) -> None:
        """Initialize, whatever ``init_cfg`` the backbone around it has."""
        if not self._is_init:
            self.reset_parameters()
        super().init_weights()

    def _load_from_state_dict(self, state_dict, prefix, *args,
                              **kwargs) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.is_loaded = all(prefix + name in state_dict
                             for name, _ in self.named_parameters())
