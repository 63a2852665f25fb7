# Copyright (c) mmstepnet contributors. All rights reserved.
from abc import abstractmethod
from typing import Any, Optional, Tuple

import torch
import torch.utils.checkpoint as cp
from mmcv.cnn import build_conv_layer, build_norm_layer
from mmengine.model import BaseModule
from torch import Tensor, nn

from mmstepnet.steps import StepConfig, build_step

DEFAULT_NORM = dict(type='BN', requires_grad=True)


class ResidualBlock(BaseModule):
    """A residual branch, a shortcut, a step from one to the next state.

    A subclass builds its branch in ``__init__`` and computes it in
    :meth:`residual`.

    Args:
        in_channels (int): Channels of the input.
        planes (int): Width of the residual branch; the output has
            ``planes * expansion`` channels.
        stride (int): Stride of the block. Defaults to 1.
        dilation (int): Dilation of the 3x3 convolution. Defaults to 1.
        style (str): ``'pytorch'`` or ``'caffe'``: which convolution of a
            bottleneck has the stride. Defaults to ``'pytorch'``.
        downsample (nn.Module, optional): Shortcut where the shape changes.
        step (str | dict, optional): The step. Defaults to None, a plain
            residual block.
        with_cp (bool): Whether to recompute the branch in the backward pass
            to save memory. Defaults to False.
        conv_cfg (dict, optional): Config of the convolutions.
        norm_cfg (dict): Config of the norm layers. Defaults to BN.
        init_cfg (dict, optional): Initialization config.
        **branch: What only the branch of this class takes.
    """

    expansion: int = 1

    def __init__(self,
                 in_channels: int,
                 planes: int,
                 *,
                 stride: int = 1,
                 dilation: int = 1,
                 style: str = 'pytorch',
                 downsample: Optional[nn.Module] = None,
                 step: StepConfig = None,
                 with_cp: bool = False,
                 conv_cfg: Optional[dict] = None,
                 norm_cfg: dict = DEFAULT_NORM,
                 init_cfg: Optional[dict] = None,
                 **branch: Any) -> None:
        super().__init__(init_cfg)
        self.with_cp = with_cp
        self.build_branch(in_channels, planes, stride, dilation, style,
                          conv_cfg, norm_cfg, **branch)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.step = build_step(step, planes * self.expansion)

    @abstractmethod
    def build_branch(self, in_channels: int, planes: int, stride: int,
                     dilation: int, style: str, conv_cfg: Optional[dict],
                     norm_cfg: dict) -> None:
        """Add the layers of the residual branch."""

    @abstractmethod
    def residual(self, x: Tensor) -> Tensor:
        """The residual branch f, (N, C, H, W) -> (N, C', H', W')."""

    def add_norm(self, norm_cfg: dict, channels: int, postfix: int) -> None:
        """Add a norm layer under the name that its type gives it."""
        name, norm = build_norm_layer(norm_cfg, channels, postfix=postfix)
        self.add_module(name, norm)
        self.norm_names = getattr(self, 'norm_names', ()) + (name, )

    def norm(self, index: int) -> nn.Module:
        """The norm layer of the branch's ``index``-th convolution."""
        return getattr(self, self.norm_names[index])

    @property
    def last_norm(self) -> Any:
        """The norm layer that ends the residual branch."""
        return self.norm(-1)

    def require_scalable(self) -> None:
        """Check that :meth:`scale_residual` can do its work.

        Raises:
            ValueError: If the last norm has no weight or bias.
        """
        for name in ('weight', 'bias'):
            if getattr(self.last_norm, name, None) is None:
                raise ValueError(
                    'the last norm of a residual branch must have a weight '
                    f'and a bias to be scaled, got {self.last_norm}')

    @torch.no_grad()
    def scale_residual(self, factor: Tensor) -> None:
        """Multiply the residual branch by ``factor``, (C,), for good."""
        self.require_scalable()
        self.last_norm.weight.mul_(factor)
        self.last_norm.bias.mul_(factor)

    def next_state(self, x: Tensor) -> Tensor:
        """The next state before the last activation."""
        identity = x if self.downsample is None else self.downsample(x)
        return self.step(self.residual(x), identity)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C', H', W')."""
        if self.with_cp and x.requires_grad:
            out = cp.checkpoint(self.next_state, x, use_reentrant=False)
        else:
            out = self.next_state(x)
        return self.activate(out)

    def activate(self, x: Tensor) -> Tensor:
        """The block's last activation."""
        return self.relu(x)


class BasicBlock(ResidualBlock):
    """Two 3x3 convolutions, the block of ResNet-18 and ResNet-34."""

    def build_branch(self, in_channels: int, planes: int, stride: int,
                     dilation: int, style: str, conv_cfg: Optional[dict],
                     norm_cfg: dict) -> None:
        self.conv1 = build_conv_layer(
            conv_cfg,
            in_channels,
            planes,
            3,
            stride=stride,
            padding=dilation,
            dilation=dilation,
            bias=False)
        self.add_norm(norm_cfg, planes, 1)
        self.conv2 = build_conv_layer(
            conv_cfg, planes, planes, 3, padding=1, bias=False)
        self.add_norm(norm_cfg, planes, 2)

    def residual(self, x: Tensor) -> Tensor:
        out = self.relu(self.norm(0)(self.conv1(x)))
        return self.norm(1)(self.conv2(out))


class Bottleneck(ResidualBlock):
    """1x1, 3x3 and 1x1 convolutions, the block of ResNet-50 and deeper.

    Args:
        groups (int): Groups of the 3x3 convolution, that of ResNeXt with more
            than one. Defaults to 1.
        width_ratio (int): Its width over ``planes``. Defaults to 1.
        **kwargs: Arguments of :class:`ResidualBlock`.
    """

    expansion = 4

    def build_branch(self,
                     in_channels: int,
                     planes: int,
                     stride: int,
                     dilation: int,
                     style: str,
                     conv_cfg: Optional[dict],
                     norm_cfg: dict,
                     groups: int = 1,
                     width_ratio: int = 1) -> None:
        width = planes * width_ratio
        strides: Tuple[int, int] = \
            (1, stride) if style == 'pytorch' else (stride, 1)
        self.conv1 = build_conv_layer(
            conv_cfg, in_channels, width, 1, stride=strides[0], bias=False)
        self.add_norm(norm_cfg, width, 1)
        self.conv2 = build_conv_layer(
            conv_cfg,
            width,
            width,
            3,
            stride=strides[1],
            padding=dilation,
            dilation=dilation,
            groups=groups,
            bias=False)
        self.add_norm(norm_cfg, width, 2)
        self.conv3 = build_conv_layer(
            conv_cfg, width, planes * self.expansion, 1, bias=False)
        self.add_norm(norm_cfg, planes * self.expansion, 3)

    def residual(self, x: Tensor) -> Tensor:
        out = self.relu(self.norm(0)(self.conv1(x)))
        out = self.relu(self.norm(1)(self.conv2(out)))
        return self.norm(2)(self.conv3(out))
