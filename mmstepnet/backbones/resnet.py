# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type

from mmcv.cnn import build_conv_layer, build_norm_layer
from torch import Tensor, nn

from mmstepnet.arguments import Positive
from mmstepnet.registry import MODELS
from .base import InitConfig, StagedResNet
from .blocks import DEFAULT_NORM, BasicBlock, Bottleneck, ResidualBlock
from .placement import BlockIndices, StagedStepConfig


@MODELS.register_module()
class ResNet(StagedResNet):
    """ResNet whose residual blocks take a step.

    The arguments are those of MMDetection's, MMPretrain's, MMSegmentation's
    and MMPose's ResNet, so a stock config becomes a StepNet config by two
    keys, ``type`` and ``step``.
    Parameter names are torchvision's; a step adds ``layer1.0.step.*``.

    Frozen stages: with ``frozen_stages >= 1`` the plain parts of the stem
    and of the first stages are frozen, while their steps stay trainable,
    since the usual checkpoint is that of a plain ResNet and a step that
    starts at random would stay there. Set ``freeze_steps=True`` where the
    checkpoint holds trained steps.

    Args:
        depth (int): Depth, from {18, 34, 50, 101, 152}.
        step (str | dict | list, optional): The step that the blocks take,
            for example ``dict(type='mmstepnet.StepNet')``, or a list of one
            a stage. Defaults to None, a plain ResNet.
        step_blocks (Sequence, optional): For each stage the indices of the
            blocks that take the step, or None for all. Defaults to None.
        step_at_shape_change (bool, optional): Whether the blocks that change
            the shape take the step. Defaults to None, which leaves it to the
            step: StepNet doesn't, attention does.
        freeze_steps (bool): Whether ``frozen_stages`` freezes the steps too.
            Defaults to False.
        in_channels (int): Channels of the image. Defaults to 3.
        stem_channels (int, optional): Channels of the stem. Defaults to
            ``base_channels``.
        base_channels (int): Width of the first stage. Defaults to 64.
        num_stages (int): Number of stages, from 1 to 4. Defaults to 4.
        strides (Sequence[int]): Stride of each stage.
        dilations (Sequence[int]): Dilation of each stage.
        contract_dilation (bool): Whether the first block of a stage takes
            half of its dilation. Defaults to False.
        multi_grid (Sequence[int], optional): Dilation of each block of the
            last stage. Defaults to None, that of the stage.
        out_indices (Sequence[int]): Stages whose output is returned.
        style (str): ``'pytorch'`` puts the stride of a bottleneck at the 3x3
            convolution, ``'caffe'`` at the first 1x1. Defaults to
            ``'pytorch'``.
        deep_stem (bool): Whether three 3x3 convolutions replace the 7x7 of
            the stem. Defaults to False.
        avg_down (bool): Whether shortcuts downsample by average pooling.
            Defaults to False.
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
            at zero, unless a checkpoint is loaded. Defaults to True.
        init_cfg (dict | list[dict], optional): Initialization config.

    Raises:
        ValueError: If ``depth``, ``style``, a stage setting or a step is not
            possible.
        TypeError: If an argument is unknown or of another type.

    Example:
        >>> import torch
        >>> model = ResNet(18, step=dict(type='mmstepnet.StepNet')).eval()
        >>> for out in model(torch.rand(1, 3, 32, 32)):
        ...     print(tuple(out.shape))
        (1, 64, 8, 8)
        (1, 128, 4, 4)
        (1, 256, 2, 2)
        (1, 512, 1, 1)
    """

    arch_settings: Dict[int, Tuple[Type[ResidualBlock], Tuple[int, ...]]] = {
        18: (BasicBlock, (2, 2, 2, 2)),
        34: (BasicBlock, (3, 4, 6, 3)),
        50: (Bottleneck, (3, 4, 6, 3)),
        101: (Bottleneck, (3, 4, 23, 3)),
        152: (Bottleneck, (3, 8, 36, 3)),
    }

    def __init__(self,
                 depth: int,
                 step: StagedStepConfig = None,
                 step_blocks: BlockIndices = None,
                 step_at_shape_change: Optional[bool] = None,
                 freeze_steps: bool = False,
                 in_channels: Positive = 3,
                 stem_channels: Optional[Positive] = None,
                 base_channels: Positive = 64,
                 num_stages: int = 4,
                 strides: Sequence[Positive] = (1, 2, 2, 2),
                 dilations: Sequence[Positive] = (1, 1, 1, 1),
                 contract_dilation: bool = False,
                 multi_grid: Optional[Sequence[int]] = None,
                 out_indices: Sequence[int] = (0, 1, 2, 3),
                 style: str = 'pytorch',
                 deep_stem: bool = False,
                 avg_down: bool = False,
                 frozen_stages: int = -1,
                 conv_cfg: Optional[dict] = None,
                 norm_cfg: dict = DEFAULT_NORM,
                 downsample_norm_cfg: Optional[dict] = None,
                 norm_eval: bool = False,
                 with_cp: bool = False,
                 zero_init_residual: bool = True,
                 init_cfg: InitConfig = None) -> None:
        if depth not in self.arch_settings:
            raise ValueError(f'depth must be one of {list(self.arch_settings)}'
                             f', got {depth!r}')
        if num_stages not in range(1, 5):
            raise ValueError(
                f'num_stages must be from 1 to 4, got {num_stages!r}')
        if style not in ('pytorch', 'caffe'):
            raise ValueError(
                f"style must be 'pytorch' or 'caffe', got {style!r}")
        super().__init__(
            num_stages=num_stages,
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
        self.deep_stem = deep_stem
        self.avg_down = avg_down

        block, stage_blocks = self.arch_settings[depth]
        channels = stem_channels or base_channels
        self._make_stem(in_channels, channels)

        self.feat_dim = self.add_stages(
            block,
            channels,
            stage_blocks[:num_stages],
            [base_channels * 2**i for i in range(num_stages)],
            strides,
            dilations,
            step,
            step_blocks,
            step_at_shape_change,
            contract_dilation,
            multi_grid,
            style=style,
            with_cp=with_cp)
        self.freeze()

    def _conv_norm_relu(self,
                        in_channels: int,
                        channels: int,
                        stride: int = 1) -> list:
        return [
            build_conv_layer(
                self.conv_cfg,
                in_channels,
                channels,
                3,
                stride=stride,
                padding=1,
                bias=False),
            build_norm_layer(self.norm_cfg, channels)[1],
            nn.ReLU(inplace=True)
        ]

    def _make_stem(self, in_channels: int, channels: int) -> None:
        if self.deep_stem:
            if channels < 2:
                raise ValueError('a deep stem needs stem_channels of at least '
                                 f'2, got {channels}')
            half = channels // 2
            self.stem = nn.Sequential(
                *self._conv_norm_relu(in_channels, half, stride=2),
                *self._conv_norm_relu(half, half),
                *self._conv_norm_relu(half, channels))
        else:
            self.conv1 = build_conv_layer(
                self.conv_cfg,
                in_channels,
                channels,
                7,
                stride=2,
                padding=3,
                bias=False)
            self.norm1_name, norm = build_norm_layer(
                self.norm_cfg, channels, postfix=1)
            self.add_module(self.norm1_name, norm)
            self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)

    def stem_modules(self) -> List[nn.Module]:
        """The modules of the stem that have parameters."""
        return [self.stem] if self.deep_stem else [self.conv1, self.norm1]

    def forward_stem(self, x: Tensor) -> Tensor:
        """(N, ``in_channels``, H, W) -> (N, ``stem_channels``, H/4, W/4)."""
        if self.deep_stem:
            return self.maxpool(self.stem(x))
        return self.maxpool(self.relu(self.norm1(self.conv1(x))))

    def make_downsample(self, in_channels: int, channels: int,
                        stride: int) -> nn.Module:
        """The shortcut of a block that changes the shape."""
        if not self.avg_down:
            return super().make_downsample(in_channels, channels, stride)
        pool = nn.AvgPool2d(
            stride, stride, ceil_mode=True, count_include_pad=False)
        return nn.Sequential(
            pool,
            *super().make_downsample(in_channels, channels, 1).children())


@MODELS.register_module()
class ResNetV1d(ResNet):
    """ResNet with a deep stem and average pooling in its shortcuts.

    Args:
        **kwargs: Arguments of :class:`ResNet`.

    Source:
        He et al., "Bag of Tricks for Image Classification with Convolutional
        Neural Networks", CVPR 2019, ResNet-D.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(deep_stem=True, avg_down=True, **kwargs)
