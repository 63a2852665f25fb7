# Copyright (c) mmstepnet contributors. All rights reserved.
import warnings
from abc import abstractmethod
from typing import Iterator, List, Optional, Sequence, Tuple, Type, Union

from mmcv.cnn import build_conv_layer, build_norm_layer
from mmengine.model import BaseModule, Sequential
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmstepnet.steps import Step, StepConfig
from .blocks import ResidualBlock

InitConfig = Union[dict, Sequence[dict], None]


class StagedResNet(BaseModule):
    """What residual backbones share: stages of blocks, freezing, loading.

    A subclass adds its stem and its stages ``layer1``, ``layer2``, ... with
    :meth:`add_stage`, then calls :meth:`freeze`.

    Args:
        out_indices (Sequence[int]): Stages whose output is returned.
        frozen_stages (int): Last frozen stage; 0 freezes the stem, -1
            nothing. Defaults to -1.
        freeze_steps (bool): Whether ``frozen_stages`` freezes the steps too.
            Defaults to False.
        conv_cfg (dict, optional): Config of the convolutions.
        norm_cfg (dict): Config of the norm layers.
        norm_eval (bool): Whether batch norms, those in steps too, keep their
            running statistics in training. Defaults to False.
        zero_init_residual (bool): Whether the last norm of each block starts
            at zero, unless a checkpoint is loaded. Defaults to True.
        init_cfg (dict | list[dict], optional): Initialization config.

    Raises:
        ValueError: On initialization, if the checkpoint of ``init_cfg`` has
            no key of this backbone.
    """

    def __init__(self,
                 *,
                 out_indices: Sequence[int],
                 frozen_stages: int,
                 freeze_steps: bool,
                 conv_cfg: Optional[dict],
                 norm_cfg: dict,
                 norm_eval: bool,
                 zero_init_residual: bool,
                 init_cfg: InitConfig = None) -> None:
        super().__init__(init_cfg or [
            dict(type='Kaiming', layer='Conv2d'),
            dict(type='Constant', val=1, layer=['_BatchNorm', 'GroupNorm'])
        ])
        self.out_indices = out_indices
        self.frozen_stages = frozen_stages
        self.freeze_steps = freeze_steps
        self.conv_cfg = conv_cfg
        self.norm_cfg = norm_cfg
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
            build_norm_layer(self.norm_cfg, channels)[1])

    def add_stage(self, block: Type[ResidualBlock], in_channels: int,
                  planes: int, stride: int, steps: Sequence[StepConfig],
                  **kwargs) -> None:
        """Add the next stage, one block for every entry of ``steps``."""
        kwargs.update(conv_cfg=self.conv_cfg, norm_cfg=self.norm_cfg)
        channels = planes * block.expansion
        downsample = None
        if stride != 1 or in_channels != channels:
            downsample = self.make_downsample(in_channels, channels, stride)
        first = block(
            in_channels,
            planes,
            stride=stride,
            downsample=downsample,
            step=steps[0],
            **kwargs)
        others = (
            block(channels, planes, step=step, **kwargs) for step in steps[1:])
        name = f'layer{len(self.res_layers) + 1}'
        self.add_module(name, Sequential(first, *others))
        self.res_layers.append(name)

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

    def _load_from_state_dict(self, state_dict, prefix, *args,
                              **kwargs) -> None:
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
