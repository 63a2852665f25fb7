# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, List, Optional, Tuple

import torch
from mmcv.cnn import build_conv_layer, build_norm_layer
from torch import Tensor, nn

from mmstepnet.registry import MODELS
from .blocks import ResidualBlock
from .resnet_cifar import CIFARResNet


class PreActBlock(ResidualBlock):
    """A residual block whose convolutions come behind norm and activation.

    The state is never activated: the step's result is the block's output. A
    shortcut that changes the shape shares the first norm and activation with
    the branch.

    Source:
        He et al., "Identity Mappings in Deep Residual Networks", ECCV 2016.
    """

    @property
    def last_norm(self) -> nn.Module:
        """Refuses: the branch ends in a convolution."""
        raise ValueError('a pre-activation block ends in a convolution, so '
                         'zero_init_residual is not possible')

    @property
    def last_conv(self) -> Any:
        """The layer that ends the residual branch."""
        return getattr(self, f'conv{len(self.norm_names)}')

    def require_scalable(self) -> None:
        """Any convolution can be scaled."""

    @torch.no_grad()
    def scale_residual(self, factor: Tensor) -> None:
        """Multiply the residual branch by ``factor``, (C,), for good."""
        self.last_conv.weight.mul_(factor[:, None, None, None])
        if self.last_conv.bias is not None:
            self.last_conv.bias.mul_(factor)

    def pre_activate(self, x: Tensor, index: int) -> Tensor:
        """The ``index``-th norm and activation."""
        return self.relu(self.norm(index)(x))

    def next_state(self, x: Tensor) -> Tensor:
        """The next state."""
        active = self.pre_activate(x, 0)
        identity = x if self.downsample is None else self.downsample(active)
        return self.step(self.residual(active), identity)

    def activate(self, x: Tensor) -> Tensor:
        """The state as it is."""
        return x


class PreActBasicBlock(PreActBlock):
    """Two 3x3 convolutions, each behind norm and activation."""

    def build_branch(self, in_channels: int, planes: int, stride: int,
                     dilation: int, style: str, conv_cfg: Optional[dict],
                     norm_cfg: dict) -> None:
        self.add_norm(norm_cfg, in_channels, 1)
        self.conv1 = build_conv_layer(
            conv_cfg,
            in_channels,
            planes,
            3,
            stride=stride,
            padding=dilation,
            dilation=dilation,
            bias=False)
        self.add_norm(norm_cfg, planes, 2)
        self.conv2 = build_conv_layer(
            conv_cfg, planes, planes, 3, padding=1, bias=False)

    def residual(self, x: Tensor) -> Tensor:
        """The residual branch behind its first activation."""
        return self.conv2(self.pre_activate(self.conv1(x), 1))


class PreActBottleneck(PreActBlock):
    """1x1, 3x3 and 1x1 convolutions, each behind norm and activation.

    Args:
        groups (int): Groups of the 3x3 convolution. Defaults to 1.
        width_ratio (int): Its width over ``planes``. Defaults to 1.
        **kwargs: Arguments of ``ResidualBlock``.
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
        self.add_norm(norm_cfg, in_channels, 1)
        self.conv1 = build_conv_layer(
            conv_cfg, in_channels, width, 1, bias=False)
        self.add_norm(norm_cfg, width, 2)
        self.conv2 = build_conv_layer(
            conv_cfg,
            width,
            width,
            3,
            stride=stride,
            padding=dilation,
            dilation=dilation,
            groups=groups,
            bias=False)
        self.add_norm(norm_cfg, width, 3)
        self.conv3 = build_conv_layer(
            conv_cfg, width, planes * self.expansion, 1, bias=False)

    def residual(self, x: Tensor) -> Tensor:
        """The residual branch behind its first activation."""
        out = self.conv2(self.pre_activate(self.conv1(x), 1))
        return self.conv3(self.pre_activate(out, 2))


@MODELS.register_module()
class PreActCIFARResNet(CIFARResNet):
    """Pre-activation ResNet for small images whose blocks take a step.

    The stem is a convolution alone; a norm and an activation follow the last
    stage.

    Args:
        *args: Arguments of :class:`CIFARResNet`; ``zero_init_residual`` is
            not possible.
        **kwargs: Same.

    Raises:
        ValueError: If an argument is not possible.

    Source:
        He et al., "Identity Mappings in Deep Residual Networks", ECCV 2016.

    Example:
        >>> import torch
        >>> model = PreActCIFARResNet(29, step=dict(type='InResNet'))
        >>> model(torch.rand(2, 3, 32, 32))[0].shape
        torch.Size([2, 256, 8, 8])
    """

    block_settings = dict(
        basic=(PreActBasicBlock, 6), bottleneck=(PreActBottleneck, 9))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.zero_init_residual:
            next(self.blocks()).last_norm
        self.final_norm = build_norm_layer(self.norm_cfg, self.feat_dim)[1]

    def make_stem(self, in_channels: int, channels: int) -> None:
        """Add the convolution of the stem."""
        self.conv1 = build_conv_layer(
            self.conv_cfg, in_channels, channels, 3, padding=1, bias=False)

    def stem_modules(self) -> List[nn.Module]:
        """The modules of the stem that have parameters."""
        return [self.conv1]

    def forward_stem(self, x: Tensor) -> Tensor:
        """(N, ``in_channels``, H, W) -> (N, ``base_channels``, H, W)."""
        return self.conv1(x)

    def make_downsample(self, in_channels: int, channels: int,
                        stride: int) -> nn.Module:
        """The shortcut of a block that changes the shape, without a norm."""
        downsample = super().make_downsample(in_channels, channels, stride)
        if isinstance(downsample, nn.Sequential):
            return nn.Sequential(downsample[0])
        return downsample

    def forward(self, x: Tensor) -> Tuple[Tensor, ...]:
        """Feature maps of the stages in ``out_indices``.

        Args:
            x (Tensor): Images, (N, ``in_channels``, H, W).

        Returns:
            tuple[Tensor]: One map a stage, (N, C_i, H_i, W_i); that of the
            last stage is normalized and activated.
        """
        outs = super().forward(x)
        if self.num_stages - 1 not in self.out_indices:
            return outs
        return (*outs[:-1], self.relu(self.final_norm(outs[-1])))
