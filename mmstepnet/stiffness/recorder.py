# Copyright (c) mmstepnet contributors. All rights reserved.
from collections import defaultdict
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from .functional import l2_norm

#: What a block calls with its state, its derivative and its step size.
Observe = Callable[[Tensor, Tensor, Tensor], None]


def is_step(module: nn.Module) -> bool:
    """Whether a module follows the contract of ``mmstepnet.steps.Step``."""
    return all(
        callable(getattr(module, name, None))
        for name in ('step_size', 'derivative'))


def observe_step(step: Any, observe: Observe) -> Callable[[], None]:
    """Watch a step at work.

    Args:
        step (nn.Module): A step.
        observe (Callable): Called after every forward pass.

    Returns:
        Callable: Ends it.
    """
    seen: List[Tensor] = []

    def remember(residual: Tensor, identity: Optional[Tensor]) -> Tensor:
        seen[:] = [type(step).step_size(step, residual, identity)]
        return seen[0]

    @torch.no_grad()
    def forward_hook(_: nn.Module, args: Tuple[Any, ...],
                     output: Tensor) -> None:
        residual, identity = args
        if not seen:
            remember(residual, identity)
        observe(identity, step.derivative(residual, identity), seen.pop())

    # The step size of this very pass: to compute it again would cost a pass
    # over the features and, in training mode, update running statistics.
    step.step_size = remember
    handle = step.register_forward_hook(forward_hook)

    def stop() -> None:
        handle.remove()
        del step.step_size

    return stop


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
    if step_size.dim() and step_size.shape[2:].numel() > 1:
        own = l2_norm(derivative)
        increment = derivative.to(
            torch.promote_types(derivative.dtype, torch.float32)) * step_size
        unit = l2_norm(increment)
        means = step_size.double().flatten(1).mean(dim=1).expand(number)
    else:
        # One reading of the features gives both norms.
        by_channel = l2_norm(derivative, per_channel=True)
        sizes = step_size.double()
        sizes = (sizes.flatten(1) if sizes.dim() else sizes).expand(
            number, channels)
        own = torch.linalg.vector_norm(by_channel, dim=1)
        unit = torch.linalg.vector_norm(by_channel * sizes, dim=1)
        means = sizes.mean(dim=1)
    norm = l2_norm(state)
    return torch.stack([own / norm, unit / norm, means], dim=1)


class StiffnessRecorder:
    """Measures the residual blocks of a model while it runs.

    Finds the step of every residual block, whatever wraps the model, groups
    the blocks into stages by their names (``layer1.0.step`` belongs to block 0
    of stage ``layer1``) and leaves out the first block of each stage. Works as
    a context manager; a block that runs again, as under activation
    checkpointing, replaces its earlier number.

    Args:
        model (nn.Module): The model.

    Attributes:
        stages (dict[str, list[str]]): Names of the measured blocks of each
            stage, empty for a model without a step.

    Example:
        >>> from mmstepnet.steps import Unit
        >>> block = nn.ModuleDict(dict(step=Unit(4)))
        >>> model = nn.ModuleDict(dict(layer1=nn.ModuleList([block] * 1)))
        >>> StiffnessRecorder(model).stages
        {'layer1': []}
    """

    def __init__(self, model: nn.Module) -> None:
        stages: Dict[str, Dict[str, nn.Module]] = defaultdict(dict)
        for name, module in model.named_modules():
            block, _, slot = name.rpartition('.')
            if slot == 'step' and is_step(module):
                stages[block.rpartition('.')[0]][block] = module
        skip = len(_common_prefix(list(stages)))
        self.stages: Dict[str, List[str]] = {}
        self._steps: Dict[str, nn.Module] = {}
        for stage, blocks in stages.items():
            measured = {
                block[skip:]: step
                for block, step in list(blocks.items())[1:]
            }
            self.stages[stage[skip:]] = list(measured)
            self._steps.update(measured)
        self._stops: List[Callable[[], None]] = []
        self._values: Dict[str, Tensor] = {}

    def open(self) -> 'StiffnessRecorder':
        """Begin to watch the blocks."""
        for name, step in self._steps.items():
            self._stops.append(
                observe_step(step, partial(self._observe, name)))
        return self

    def close(self) -> None:
        """Leave the model as it was."""
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
            ValueError: If some measured block didn't run.
        """
        missing = [name for name in self._steps if name not in self._values]
        if missing:
            self._values.clear()
            raise ValueError('expected a forward pass through all measured '
                             f'blocks, got none through {missing}')
        values = torch.stack([self._values[name] for name in self._steps],
                             dim=1)
        self._values.clear()
        return values


def _common_prefix(stages: List[str]) -> str:
    """What all names begin with, up to the last dot of the shortest."""
    parts = [stage.split('.')[:-1] for stage in stages]
    common = []
    for column in zip(*parts):
        if len(set(column)) > 1:
            break
        common.append(column[0] + '.')
    return ''.join(common)
