# Copyright (c) mmstepnet contributors. All rights reserved.
import warnings
from abc import abstractmethod
from typing import (Any, Iterator, List, Mapping, Optional, Sequence, Tuple,
                    Type, Union)

from mmcv.cnn import build_conv_layer, build_norm_layer
from mmengine.model import BaseModule, Sequential
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmstepnet.arguments import CheckedArguments
from mmstepnet.registry import MMENGINE_MODELS
from mmstepnet.steps import Step
from .blocks import ResidualBlock
from .placement import (BlockIndices, StagedStepConfig, block_dilations,
                        place_steps)

InitConfig = Union[dict, Sequence[dict], None]


def _check_layer(name: str, cfg: Optional[dict]) -> None:
    kind = 'Conv2d' if cfg is None else cfg.get('type')
    with MMENGINE_MODELS.switch_scope_and_registry(None) as registry:
        if not isinstance(kind, type) and not (isinstance(kind, str)
                                               and registry.get(kind)):
            raise ValueError(f'{name} must be a config whose "type" is a '
                             f'registered layer, got {cfg!r}')


class StagedResNet(CheckedArguments, BaseModule):
    """What residual backbones share: stages of blocks, freezing, loading.

    A subclass adds its stem, then its stages with :meth:`add_stages`, then
    calls :meth:`freeze`.

    Args:
        num_stages (int): Number of stages.
        out_indices (Sequence[int]): Stages whose output is returned.
        frozen_stages (int): Last frozen stage; 0 freezes the stem, -1
            nothing. Defaults to -1.
        freeze_steps (bool): Whether ``frozen_stages`` freezes the steps too.
            Defaults to False.
        conv_cfg (dict, optional): Config of the convolutions.
        norm_cfg (dict): Config of the norm layers.
        downsample_norm_cfg (dict, optional): Config of those in shortcuts.
            Defaults to None, which is ``norm_cfg``.
        norm_eval (bool): Whether batch norms, those in steps too, keep their
            running statistics in training. Defaults to False.
        zero_init_residual (bool): Whether the last norm of each block starts
            at zero, unless a checkpoint is loaded. Defaults to True.
        init_cfg (dict | list[dict], optional): Initialization config.

    Raises:
        TypeError: If an argument is unknown or of another type.
        ValueError: If a stage setting is not possible; on initialization, if
            the checkpoint of ``init_cfg`` has no key of this backbone.
    """

    def __init__(self,
                 *,
                 num_stages: int,
                 out_indices: Sequence[int],
                 frozen_stages: int,
                 freeze_steps: bool,
                 conv_cfg: Optional[dict],
                 norm_cfg: dict,
                 norm_eval: bool,
                 zero_init_residual: bool,
                 downsample_norm_cfg: Optional[dict] = None,
                 init_cfg: InitConfig = None) -> None:
        super().__init__(init_cfg or [
            dict(type='Kaiming', layer='Conv2d'),
            dict(type='Constant', val=1, layer=['_BatchNorm', 'GroupNorm'])
        ])
        for name, cfg in dict(
                conv_cfg=conv_cfg,
                norm_cfg=norm_cfg,
                downsample_norm_cfg=downsample_norm_cfg).items():
            _check_layer(name, cfg)
        if any(i not in range(num_stages) for i in out_indices):
            raise ValueError('out_indices must be from 0 to '
                             f'{num_stages - 1}, got {out_indices!r}')
        if frozen_stages not in range(-1, num_stages + 1):
            raise ValueError(f'frozen_stages must be from -1 to {num_stages}, '
                             f'got {frozen_stages!r}')
        self.num_stages = num_stages
        self.out_indices = out_indices
        self.frozen_stages = frozen_stages
        self.freeze_steps = freeze_steps
        self.conv_cfg = conv_cfg
        self.norm_cfg = norm_cfg
        self.downsample_norm_cfg = downsample_norm_cfg or norm_cfg
        self.norm_eval = norm_eval
        self.zero_init_residual = zero_init_residual
        self.res_layers: List[str] = []
        self._unmatched: Optional[List[str]] = None

    @abstractmethod
    def stem_modules(self) -> List[nn.Module]:
        """The modules of the stem that have parameters."""

    @abstractmethod
    def forward_stem(self, x: Tensor) -> Tensor:
        """Images to the input of the first stage."""

    @property
    def norm1(self) -> nn.Module:
        """The norm layer of the stem."""
        return getattr(self, self.norm1_name)

    def make_downsample(self, in_channels: int, channels: int,
                        stride: int) -> nn.Module:
        """The shortcut of a block that changes the shape."""
        return nn.Sequential(
            build_conv_layer(
                self.conv_cfg,
                in_channels,
                channels,
                1,
                stride=stride,
                bias=False),
            build_norm_layer(self.downsample_norm_cfg, channels)[1])

    def add_stages(self,
                   block: Type[ResidualBlock],
                   in_channels: int,
                   stage_blocks: Sequence[int],
                   widths: Sequence[int],
                   strides: Sequence[int],
                   dilations: Sequence[int],
                   step: StagedStepConfig,
                   step_blocks: BlockIndices,
                   step_at_shape_change: Optional[bool],
                   contract_dilation: bool = False,
                   multi_grid: Optional[Sequence[int]] = None,
                   **kwargs: Any) -> int:
        """Add the stages ``layer1``, ``layer2``, ...

        Args:
            block (type[ResidualBlock]): Class of the blocks.
            in_channels (int): Channels of the stem.
            stage_blocks (Sequence[int]): Number of blocks of each stage.
            widths (Sequence[int]): Width of each stage.
            strides (Sequence[int]): Stride of each stage.
            dilations (Sequence[int]): Dilation of each stage.
            step (str | dict | list, optional): See
                :func:`~mmstepnet.backbones.placement.place_steps`.
            step_blocks (Sequence, optional): Same.
            step_at_shape_change (bool, optional): Same.
            contract_dilation (bool): See
                :func:`~mmstepnet.backbones.placement.block_dilations`.
                Defaults to False.
            multi_grid (Sequence[int], optional): Same. Defaults to None.
            **kwargs: Arguments of all blocks.

        Returns:
            int: Channels of the last stage.

        Raises:
            ValueError: If a setting has not one entry a stage, or a step or
                ``multi_grid`` doesn't fit.
        """
        for name, value in (('strides', strides), ('dilations', dilations)):
            if len(value) != self.num_stages:
                raise ValueError(f'{name} must have one entry for each of the '
                                 f'{self.num_stages} stages, got {value!r}')
        kwargs.update(conv_cfg=self.conv_cfg, norm_cfg=self.norm_cfg)
        rates = block_dilations(dilations, stage_blocks, contract_dilation,
                                multi_grid)
        channels = [
            in_channels, *(width * block.expansion for width in widths)
        ]
        changes = [
            stride != 1 or channels[i] != channels[i + 1]
            for i, stride in enumerate(strides)
        ]
        steps = place_steps(step, stage_blocks, changes, step_blocks,
                            step_at_shape_change)
        for i, width in enumerate(widths):
            downsample = self.make_downsample(
                channels[i], channels[i +
                                      1], strides[i]) if changes[i] else None
            name = f'layer{i + 1}'
            self.res_layers.append(name)
            self.add_module(
                name,
                Sequential(*(block(
                    channels[i + min(j, 1)],
                    width,
                    stride=strides[i] if j == 0 else 1,
                    dilation=rates[i][j],
                    downsample=downsample if j == 0 else None,
                    step=steps[i][j],
                    **kwargs) for j in range(stage_blocks[i]))))
        return channels[-1]

    def blocks(self, stages: Optional[int] = None) -> Iterator[ResidualBlock]:
        """The residual blocks of the first ``stages``, by default of all."""
        for name in self.res_layers[:stages]:
            yield from getattr(self, name)

    def frozen_steps(self) -> Iterator[Step]:
        """The steps inside frozen stages, frozen themselves or not."""
        for block in self.blocks(max(self.frozen_stages, 0)):
            yield block.step

    def freeze(self) -> None:
        """Freeze what ``frozen_stages`` and ``freeze_steps`` say."""
        if self.frozen_stages < 0:
            return
        stages = [getattr(self, n) for n in self.res_layers]
        for module in self.stem_modules() + stages[:self.frozen_stages]:
            module.eval()
            module.requires_grad_(False)
        if not self.freeze_steps:
            for step in self.frozen_steps():
                step.train(self.training)
                step.requires_grad_(True)

    def train(self, mode: bool = True) -> 'StagedResNet':
        """Set the mode; frozen stages and, on demand, norms stay fixed."""
        super().train(mode)
        self.freeze()
        if mode:
            if self.norm_eval:
                for module in self.modules():
                    if isinstance(module, _BatchNorm):
                        module.eval()
            if self.freeze_steps and not all(
                    step.is_loaded or not list(step.parameters())
                    for step in self.frozen_steps()):
                warnings.warn(
                    f'frozen_stages={self.frozen_stages} with freeze_steps='
                    'True freezes steps that no loaded checkpoint held, so '
                    'they stay as they were initialized; set freeze_steps='
                    'False or load a checkpoint that was trained with this '
                    'step.')
        return self

    def init_weights(self) -> None:
        """Initialize; zero the last norms unless a checkpoint is loaded."""
        configs = [self.init_cfg] if isinstance(self.init_cfg, dict) else \
            self.init_cfg
        checkpoints = [
            cfg['checkpoint'] for cfg in configs if 'checkpoint' in cfg
        ]
        self._unmatched = None
        super().init_weights()
        if checkpoints and self._unmatched:
            expected = next(iter(self.state_dict()))
            raise ValueError(
                f'the checkpoint {checkpoints[-1]!r} has no key of this '
                f'backbone: expected names like {expected!r}, got '
                f'{self._unmatched}; that of a whole detector or classifier '
                "needs prefix='backbone.' in init_cfg.")
        if self.zero_init_residual and not checkpoints:
            for block in self.blocks():
                nn.init.zeros_(block.last_norm.weight)

    def _load_from_state_dict(self, state_dict: Mapping[str, Tensor],
                              prefix: str, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        matches = any(prefix + name in state_dict
                      for name in self.state_dict())
        self._unmatched = [] if matches else list(state_dict)[:3]

    def forward(self, x: Tensor) -> Tuple[Tensor, ...]:
        """Feature maps of the stages in ``out_indices``.

        Args:
            x (Tensor): Images, (N, ``in_channels``, H, W).

        Returns:
            tuple[Tensor]: One map a stage, (N, C_i, H_i, W_i).
        """
        x = self.forward_stem(x)
        outs = []
        for i, name in enumerate(self.res_layers):
            x = getattr(self, name)(x)
            if i in self.out_indices:
                outs.append(x)
        return tuple(outs)
