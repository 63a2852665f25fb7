# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, List, Optional, Sequence

import torch
from mmcv.cnn import build_conv_layer
from torch import Tensor, nn

from mmstepnet.arguments import Positive
from mmstepnet.registry import MODELS
from .preact_cifar import PreActBlock, PreActCIFARResNet


class WindowAttention(nn.Module):
    """Multi-head self-attention inside square windows of a feature map.

    Args:
        in_channels (int): Channels of the input.
        channels (int): Channels of the output.
        num_heads (int): Number of heads.
        head_channels (int): Channels of each.
        window_size (int): Side of the windows. A map that is smaller is one
            window; the sides of a larger one have to be multiples of it.

    Raises:
        ValueError: In the forward pass, if a map doesn't divide into windows.

    Example:
        >>> WindowAttention(16, 64, 3, 8, 4)(torch.rand(2, 16, 8, 8)).shape
        torch.Size([2, 64, 8, 8])
    """

    def __init__(self, in_channels: int, channels: int, num_heads: int,
                 head_channels: int, window_size: int) -> None:
        super().__init__()
        inner = num_heads * head_channels
        self.num_heads = num_heads
        self.window_size = window_size
        self.qkv = nn.Conv2d(in_channels, 3 * inner, 1, bias=False)
        self.proj = nn.Conv2d(inner, channels, 1)
        #: Bias of the attention by the distance of two pixels, all heads.
        self.distance_bias = nn.Parameter(
            torch.empty(2 * window_size - 1, 2 * window_size - 1))
        nn.init.normal_(self.distance_bias, std=0.02)

    def bias(self, height: int, width: int) -> Tensor:
        """Bias of the attention between the pixels of a window, (T, T)."""
        device = self.distance_bias.device
        ys, xs = (
            torch.arange(size, device=device) for size in (height, width))
        last = self.window_size - 1
        dy = (ys[None] - ys[:, None] + last)[:, None, :, None]
        dx = (xs[None] - xs[:, None] + last)[None, :, None, :]
        tokens = height * width
        return self.distance_bias[dy, dx].reshape(tokens, tokens)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C', H, W)."""
        n, _, height, width = x.shape
        h, w = min(height, self.window_size), min(width, self.window_size)
        if height % h or width % w:
            raise ValueError(
                f'the feature map of {height} x {width} must divide into '
                f'windows of {h} x {w}: choose another window_size')
        rows, columns = height // h, width // w
        windows = self.qkv(x).reshape(n, 3, self.num_heads, -1, rows, h,
                                      columns, w)
        # -> (3, N, rows, columns, heads, h, w, head_channels)
        windows = windows.permute(1, 0, 4, 6, 2, 5, 7, 3).flatten(5, 6)
        query, key, value = windows.unbind()
        # in the open, since the fused kernels have no second derivative
        scores = query @ key.transpose(-1, -2) * query.shape[-1]**-0.5
        attention = (scores + self.bias(h, w)).softmax(-1)
        out = (attention @ value).unflatten(-2, (h, w))
        # -> (N, heads, head_channels, rows, h, columns, w)
        out = out.permute(0, 3, 6, 1, 4, 2, 5).reshape(n, -1, height, width)
        return self.proj(out)


class AttentionBlock(PreActBlock):
    """A pre-activation block of a 1x1 convolution and self-attention.

    Args:
        num_heads (int): Number of heads.
        head_channels (int): Channels of each.
        window_size (int): Side of the windows.
        **kwargs: Arguments of ``ResidualBlock``.

    Source:
        Park and Kim, "How Do Vision Transformers Work?", ICLR 2022, AlterNet.
    """

    def build_branch(  # type: ignore[override]
            self, in_channels: int, planes: int, stride: int, dilation: int,
            style: str, conv_cfg: Optional[dict], norm_cfg: dict,
            num_heads: int, head_channels: int, window_size: int) -> None:
        self.add_norm(norm_cfg, in_channels, 1)
        self.conv1 = build_conv_layer(
            conv_cfg, in_channels, planes, 1, stride=stride, bias=False)
        self.add_norm(norm_cfg, planes, 2)
        self.attention = WindowAttention(planes, planes * self.expansion,
                                         num_heads, head_channels, window_size)

    @property
    def last_conv(self) -> nn.Module:
        """The layer that ends the residual branch."""
        return self.attention.proj

    def residual(self, x: Tensor) -> Tensor:
        """The residual branch behind its first activation."""
        return self.attention(self.norm(1)(self.conv1(x)))


class AttentionBottleneck(AttentionBlock):
    """The same in a network of bottlenecks."""

    expansion = 4


@MODELS.register_module()
class CIFARAlterNet(PreActCIFARResNet):
    """Pre-activation ResNet with self-attention at the end of its stages.

    The last blocks of a stage take turns: a convolutional one, then one of
    self-attention, so that a stage of n blocks with k of attention ends in k
    such pairs.

    Args:
        *args: Arguments of :class:`PreActCIFARResNet`.
        attention_blocks (Sequence[int]): Blocks of attention in each stage.
            Defaults to (0, 1, 2).
        num_heads (Sequence[int]): Heads of those in each stage. Defaults to
            (3, 6, 12).
        head_channels (int): Channels of a head. Defaults to 16.
        window_size (int): Side of the windows. Defaults to 8, a whole map in
            the last stage of 32x32 images.
        **kwargs: Arguments of :class:`PreActCIFARResNet`.

    Raises:
        ValueError: If a stage is too short for its blocks of attention, or an
            argument has not one entry a stage.

    Source:
        Park and Kim, "How Do Vision Transformers Work?", ICLR 2022. Its
        networks have four stages from 64 channels with 64 channels a
        head; here both are a quarter, as in the ResNets for CIFAR.

    Example:
        >>> model = CIFARAlterNet(29, attention_blocks=(0, 1, 1))
        >>> model(torch.rand(2, 3, 32, 32))[0].shape
        torch.Size([2, 256, 8, 8])
        >>> [type(block).__name__ for block in model.layer3]
        ['PreActBottleneck', 'PreActBottleneck', 'AttentionBottleneck']
    """

    def __init__(self,
                 *args: Any,
                 attention_blocks: Sequence[int] = (0, 1, 2),
                 num_heads: Sequence[Positive] = (3, 6, 12),
                 head_channels: Positive = 16,
                 window_size: Positive = 8,
                 **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in (('attention_blocks', attention_blocks),
                            ('num_heads', num_heads)):
            if len(value) != self.num_stages:
                raise ValueError(f'{name} must have one entry for each of the '
                                 f'{self.num_stages} stages, got {value!r}')
        for name, number, heads in zip(self.res_layers, attention_blocks,
                                       num_heads):
            stage = getattr(self, name)
            for index in self._attention_indices(len(stage), number):
                stage[index] = self._attention_block(stage[index], heads,
                                                     head_channels,
                                                     window_size)
        self.freeze()

    @staticmethod
    def _attention_indices(num_blocks: int, number: int) -> List[int]:
        if not 0 <= 2 * number <= num_blocks:
            raise ValueError(
                f'a stage of {num_blocks} blocks has room for 0 to '
                f'{num_blocks // 2} of attention, got {number}')
        return [num_blocks - 1 - 2 * i for i in range(number)]

    def _attention_block(self, block: PreActBlock, num_heads: int,
                         head_channels: int,
                         window_size: int) -> AttentionBlock:
        """A block of attention in the place of another, with its step."""
        cls = AttentionBlock if block.expansion == 1 else AttentionBottleneck
        channels = block.step.in_channels
        attention = cls(
            channels,
            channels // block.expansion,
            with_cp=block.with_cp,
            conv_cfg=self.conv_cfg,
            norm_cfg=self.norm_cfg,
            num_heads=num_heads,
            head_channels=head_channels,
            window_size=window_size)
        attention.step = block.step
        return attention
