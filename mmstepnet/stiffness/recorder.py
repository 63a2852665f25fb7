# Copyright (c) mmstepnet contributors. All rights reserved.
from functools import partial
from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor, nn

from .blocks import ResidualBlock, Stop, find_blocks
from .functional import l2_norm


def measure(state: Tensor, derivative: Tensor, step_size: Tensor) -> Tensor:
    """NSI with the own step size and with the step size 1, mean step size.

    Args:
        state (Tensor): State x_t, (N, C, ...).
        derivative (Tensor): What the step size multiplies, (N, C, ...).
        step_size (Tensor): Step size that broadcasts to ``derivative``.

    Returns:
        Tensor: The three numbers of every sample, (N, 3), float64.

    Example:
        >>> x = torch.ones(1, 4, 2, 2)
        >>> measure(x, 3 * x, torch.tensor(0.5))
        tensor([[3.0000, 1.5000, 0.5000]], dtype=torch.float64)
    """
    number, channels = derivative.shape[:2]
    step_size = step_size[(None, ) * (derivative.dim() - step_size.dim())]
    if step_size.shape[2:].numel() > 1:
        own = l2_norm(derivative)
        dtype = torch.promote_types(derivative.dtype, torch.float32)
        unit = l2_norm(derivative.to(dtype) * step_size)
        means = step_size.double().flatten(1).mean(dim=1).expand(number)
    else:
        # One reading of the features gives both norms.
        by_channel = l2_norm(derivative, per_channel=True)
        sizes = step_size.double().flatten(1).expand(number, channels)
        own = torch.linalg.vector_norm(by_channel, dim=1)
        unit = torch.linalg.vector_norm(by_channel * sizes, dim=1)
        means = sizes.mean(dim=1)
    norm = l2_norm(state)
    return torch.stack([own / norm, unit / norm, means], dim=1)


class StiffnessRecorder:
    """Measures the residual blocks of a network while it runs.

    Groups the blocks into stages by their names (``layer1.0`` is block 0 of
    stage ``layer1``) and leaves out the first block of each stage. Works as a
    context manager. A block that runs again, as under activation
    checkpointing, replaces its earlier number.

    Args:
        model (nn.Module): The network, wrapped or not.
        blocks (Sequence[str], optional): Names of its residual blocks in
            ``model.named_modules()``. Defaults to None, which finds them, see
            :func:`~mmstepnet.stiffness.blocks.find_blocks`.

    Attributes:
        stages (dict[str, list[str]]): Names of the measured blocks of each
            stage, empty for a network without residual blocks. What all
            names begin with is left out.

    Raises:
        ValueError: If a name is not that of a module.

    Example:
        >>> from torchvision.models import resnet18
        >>> model = resnet18()
        >>> with StiffnessRecorder(model) as recorder:
        ...     _ = model(torch.rand(2, 3, 32, 32))
        ...     recorder.pop().shape
        torch.Size([2, 4, 3])
    """

    def __init__(self,
                 model: nn.Module,
                 blocks: Optional[Sequence[str]] = None) -> None:
        found = find_blocks(model, blocks)
        self.how = found[0].how if found else ''
        self._left_out: List[str] = []
        by_stage: Dict[str, List[ResidualBlock]] = {}
        for block in found:
            by_stage.setdefault(block.stage, []).append(block)
        skip = len(_common_prefix(list(by_stage)))
        self.stages: Dict[str, List[str]] = {}
        self._measured: Dict[str, ResidualBlock] = {}
        for stage, members in by_stage.items():
            self._left_out.append(members[0].name)
            measured = {block.name[skip:]: block for block in members[1:]}
            self.stages[stage[skip:]] = list(measured)
            self._measured.update(measured)
        self._stops: List[Stop] = []
        self._values: Dict[str, Tensor] = {}

    def describe(self) -> str:
        """What was found and how it is measured, in a few sentences."""
        if not self.stages:
            return 'No residual block was found.'
        if not self._measured:
            return ('Nothing is measured, TNS is 0 by definition: the first '
                    'block of each stage is left out, expected a second one '
                    f'of some stage, got only {", ".join(self._left_out)}.')
        stages = ', '.join(f'{stage} ({len(blocks)})'
                           for stage, blocks in self.stages.items())
        return (f'{len(self._measured)} residual blocks are measured in the '
                f'stages {stages}; the first of each stage is left out. '
                f'There, {self.how}.')

    def open(self) -> 'StiffnessRecorder':
        """Begin to watch the blocks."""
        for name, block in self._measured.items():
            self._stops.append(
                block.watch(block.module, partial(self._observe, name)))
        return self

    def close(self) -> None:
        """Leave the network as it was."""
        while self._stops:
            self._stops.pop()()
        self._values.clear()

    def __enter__(self) -> 'StiffnessRecorder':
        return self.open()

    def __exit__(self, *exc_info: Any) -> None:
        self.close()

    def _observe(self, name: str, *tensors: Tensor) -> None:
        self._values[name] = measure(*tensors)

    def pop(self) -> Tensor:
        """Numbers of the last forward pass.

        Returns:
            Tensor: (N, L, 3), float64, see :func:`measure`.

        Raises:
            ValueError: If some measured block didn't run, or there is none.
        """
        if not self._measured:
            raise ValueError(self.describe())
        values, self._values = self._values, {}
        missing = [name for name in self._measured if name not in values]
        if missing:
            raise ValueError('expected a forward pass through all measured '
                             f'blocks, got none through {missing}')
        return torch.stack([values[name] for name in self._measured], dim=1)


def _common_prefix(stages: List[str]) -> str:
    """The parents, up to a dot, that all stages share."""
    parents = [stage.split('.')[:-1] for stage in stages]
    common = ''
    for names in zip(*parents):
        if len(set(names)) > 1:
            break
        common += names[0] + '.'
    return common
