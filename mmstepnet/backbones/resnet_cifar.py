# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type

import torch.nn.functional as F
from mmcv.cnn import build_conv_layer, build_norm_layer
from torch import Tensor, nn

from mmstepnet.arguments import Positive
from mmstepnet.registry import MODELS
from .base import InitConfig, StagedResNet
from .blocks import DEFAULT_NORM, BasicBlock, Bottleneck, ResidualBlock
from .placement import BlockIndices, StagedStepConfig


class PadShortcut(nn.Module):
    """Shortcut without parameters: every ``stride``-th pixel, zero channels.

    Args:
        in_channels (int): Channels of the input.
        channels (int): Channels of the output; the new ones are zero, half
            of them before and half of them behind the others.
        stride (int): Stride.

    Source:
        He et al., "Deep Residual Learning for Image Recognition", CVPR 2016,
        option A.
    """

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        missing = channels - in_channels
        self.padding = (missing // 2, missing - missing // 2)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C', H', W')."""
        x = x[:, :, ::self.stride, ::self.stride]
        return F.pad(x, (0, 0, 0, 0, *self.padding))


@MODELS.register_module()
class CIFARResNet(StagedResNet):
    """ResNet for small images whose residual blocks take a step.

    A 3x3 convolution without pooling, then three stages of n blocks with 16,
    32 and 64 planes. Of bottlenecks the network has ``9n + 2`` layers (29, 83,
    110, 164), of basic blocks ``6n + 2`` (20, 32, 44, 56, 110). Bottlenecks
    change the shape in the first block of every stage, basic blocks in that
    of the second and the third.

    Args:
        depth (int): Depth.
        block (str): ``'bottleneck'`` or ``'basic'``. Defaults to
            ``'bottleneck'``.
        shortcut (str): What blocks that change the shape have for a
            shortcut: ``'conv'``, a 1x1 convolution and a norm, or ``'pad'``,
            every second pixel and channels of zeros. Defaults to ``'conv'``.
        step (str | dict | list, optional): The step that the blocks take, or
            a list of one a stage. Defaults to None, a plain ResNet.
        step_blocks (Sequence, optional): For each stage the indices of the
            blocks that take the step, or None for all. Defaults to None.
        step_at_shape_change (bool, optional): Whether the blocks that change
            the shape take the step. Defaults to None, which leaves it to the
            step: StepNet doesn't, attention does.
        freeze_steps (bool): Whether ``frozen_stages`` freezes the steps too.
            Defaults to False.
        in_channels (int): Channels of the image. Defaults to 3.
        base_channels (int): Channels of the stem and planes of the first
            stage. Defaults to 16.
        groups (int): Groups of the 3x3 convolution of bottlenecks, more than
            one in ResNeXt. Defaults to 1.
        width_ratio (int): Its width over the planes of the stage. Defaults
            to 1. ResNeXt-29 8x64d is ``depth=29, base_channels=64, groups=8,
            width_ratio=8``.
        strides (Sequence[int]): Stride of each stage.
        out_indices (Sequence[int]): Stages whose output is returned.
            Defaults to the last.
        frozen_stages (int): Last frozen stage; 0 freezes the stem, -1
            nothing. Defaults to -1.
        conv_cfg (dict, optional): Config of the convolutions.
        norm_cfg (dict): Config of the norm layers. Defaults to BN.
        downsample_norm_cfg (dict, optional): Config of those in shortcuts.
            Defaults to None, which is ``norm_cfg``.
        norm_eval (bool): Whether batch norms, those in steps too, keep their
            running statistics in training. Defaults to False.
        with_cp (bool): Whether blocks recompute their activations in the
            backward pass to save memory. Defaults to False.
        zero_init_residual (bool): Whether the last norm of each block starts
            at zero, unless a checkpoint is loaded. Defaults to False.
        init_cfg (dict | list[dict], optional): Initialization config.

    Raises:
        ValueError: If ``depth``, ``block``, ``shortcut``, a stage setting or
            a step is not possible.

    Source:
        He et al., "Deep Residual Learning for Image Recognition", CVPR 2016,
        section 4.2; the bottleneck network of 164 layers is the one that
        StepNet's paper trains.

    Example:
        >>> import torch
        >>> model = CIFARResNet(29, step=dict(type='mmstepnet.StepNet'))
        >>> model(torch.rand(3, 3, 32, 32))[0].shape
        torch.Size([3, 256, 8, 8])
    """

    #: Class of the blocks and layers that three of them have.
    block_settings: Dict[str, Tuple[Type[ResidualBlock], int]] = dict(
        basic=(BasicBlock, 6), bottleneck=(Bottleneck, 9))

    def __init__(self,
                 depth: int,
                 block: str = 'bottleneck',
                 shortcut: str = 'conv',
                 step: StagedStepConfig = None,
                 step_blocks: BlockIndices = None,
                 step_at_shape_change: Optional[bool] = None,
                 freeze_steps: bool = False,
                 in_channels: Positive = 3,
                 base_channels: Positive = 16,
                 groups: Positive = 1,
                 width_ratio: Positive = 1,
                 strides: Sequence[Positive] = (1, 2, 2),
                 out_indices: Sequence[int] = (2, ),
                 frozen_stages: int = -1,
                 conv_cfg: Optional[dict] = None,
                 norm_cfg: dict = DEFAULT_NORM,
                 downsample_norm_cfg: Optional[dict] = None,
                 norm_eval: bool = False,
                 with_cp: bool = False,
                 zero_init_residual: bool = False,
                 init_cfg: InitConfig = None) -> None:
        self._check(depth, block, shortcut)
        branch: Dict[str, Any] = dict(groups=groups, width_ratio=width_ratio)
        if block == 'basic':
            if branch != dict(groups=1, width_ratio=1):
                raise ValueError('only bottlenecks take groups and '
                                 f'width_ratio, got {branch} for basic blocks')
            branch = {}
        elif base_channels * width_ratio % groups:
            raise ValueError('groups must divide base_channels * width_ratio ='
                             f' {base_channels * width_ratio}, got {groups}')
        super().__init__(
            num_stages=3,
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            freeze_steps=freeze_steps,
            conv_cfg=conv_cfg,
            norm_cfg=norm_cfg,
            downsample_norm_cfg=downsample_norm_cfg,
            norm_eval=norm_eval,
            zero_init_residual=zero_init_residual,
            init_cfg=init_cfg)
        self.depth = depth
        self.shortcut = shortcut
        self.relu = nn.ReLU(inplace=True)
        self.make_stem(in_channels, base_channels)
        block_class, layers = self.block_settings[block]
        self.feat_dim = self.add_stages(
            block_class,
            base_channels, [(depth - 2) // layers] * 3,
            [base_channels * 2**i for i in range(3)],
            strides, (1, 1, 1),
            step,
            step_blocks,
            step_at_shape_change,
            with_cp=with_cp,
            **branch)
        self.freeze()

    def _check(self, depth: int, block: str, shortcut: str) -> None:
        if block not in self.block_settings:
            raise ValueError(
                f'block must be one of {list(self.block_settings)}, got '
                f'{block!r}')
        if shortcut not in ('conv', 'pad'):
            raise ValueError(
                f"shortcut must be 'conv' or 'pad', got {shortcut!r}")
        layers = self.block_settings[block][1]
        if not isinstance(depth, int) or depth <= 2 or (depth - 2) % layers:
            raise ValueError(
                f'depth of a network of {block} blocks must be {layers}n + 2,'
                f' got {depth!r}')

    def make_stem(self, in_channels: int, channels: int) -> None:
        """Add the layers of the stem."""
        self.conv1 = build_conv_layer(
            self.conv_cfg, in_channels, channels, 3, padding=1, bias=False)
        self.norm1_name, norm = build_norm_layer(
            self.norm_cfg, channels, postfix=1)
        self.add_module(self.norm1_name, norm)

    def stem_modules(self) -> List[nn.Module]:
        """The modules of the stem that have parameters."""
        return [self.conv1, self.norm1]

    def forward_stem(self, x: Tensor) -> Tensor:
        """(N, ``in_channels``, H, W) -> (N, ``base_channels``, H, W)."""
        return self.relu(self.norm1(self.conv1(x)))

    def make_downsample(self, in_channels: int, channels: int,
                        stride: int) -> nn.Module:
        """The shortcut of a block that changes the shape."""
        if self.shortcut == 'pad':
            return PadShortcut(in_channels, channels, stride)
        return super().make_downsample(in_channels, channels, stride)
