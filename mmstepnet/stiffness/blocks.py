# Copyright (c) mmstepnet contributors. All rights reserved.
"""The residual blocks of a network, whoever wrote it."""
import difflib
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

#: Called with the state x_t, the derivative, and the step size.
Observe = Callable[[Tensor, Tensor, Tensor], None]
Stop = Callable[[], None]

FROM_STEP = ('x_t and f are the two inputs of the block\'s step, dt is its '
             'step size')
FROM_BLOCK = ('x_t is the input of the block, x_t+1 what enters its last '
              'activation (its output where it doesn\'t end with one), '
              'f = x_t+1 - x_t and dt = 1')


@dataclass(frozen=True)
class ResidualBlock:
    """A residual block of a network.

    Attributes:
        name (str): Name of the block in the network.
        module (nn.Module): The step of the block, or the block itself.
        how (str): How x_t and f are taken from it, in words.
        watch (Callable): Begins to watch ``module`` and returns what ends it.
    """
    name: str
    module: nn.Module
    how: str
    watch: Callable[[nn.Module, Observe], Stop]

    @property
    def stage(self) -> str:
        """Name of the container of the block."""
        return self.name.rpartition('.')[0]


def find_blocks(model: nn.Module,
                names: Optional[Sequence[str]] = None) -> List[ResidualBlock]:
    """Find the residual blocks of a network.

    Either the ones named; or those with a step of this package; or else the
    blocks that look like those of a ResNet (``conv1``, ``conv2`` and
    ``downsample``) or of a transformer (``attn`` with ``mlp`` and so on) as
    torchvision, timm, MMDetection and MMPretrain write them.

    Args:
        model (nn.Module): The network, wrapped or not.
        names (Sequence[str], optional): Names of the blocks as in
            ``model.named_modules()``, in the order they run.

    Returns:
        list[ResidualBlock]: The blocks, none if there are none.

    Raises:
        ValueError: If a name is not that of a module.

    Example:
        >>> from torchvision.models import resnet18
        >>> [block.name for block in find_blocks(resnet18())][:3]
        ['layer1.0', 'layer1.1', 'layer2.0']
    """
    modules = dict(model.named_modules())
    if names is not None:
        return [_named_block(modules, name) for name in names]
    steps = [
        ResidualBlock(name.rpartition('.')[0], module, FROM_STEP, watch_step)
        for name, module in modules.items()
        if name.rpartition('.')[2] == 'step' and _is_step(module)
    ]
    return steps or [
        ResidualBlock(name, module, FROM_BLOCK, watch_block)
        for name, module in modules.items() if _is_residual_block(module)
    ]


def _named_block(modules: Dict[str, nn.Module], name: str) -> ResidualBlock:
    if name not in modules:
        close = difflib.get_close_matches(name, modules, n=3)
        raise ValueError(f'no module of the network is named {name!r}; close '
                         f'to it are {close or list(modules)[1:4]}')
    module = modules[name]
    step = getattr(module, 'step', None)
    if isinstance(step, nn.Module) and _is_step(step):
        return ResidualBlock(name, step, FROM_STEP, watch_step)
    return ResidualBlock(name, module, FROM_BLOCK, watch_block)


def _is_step(module: nn.Module) -> bool:
    return all(
        callable(getattr(module, name, None))
        for name in ('step_size', 'derivative'))


def _is_residual_block(module: nn.Module) -> bool:

    def has(*names: str) -> bool:
        return any(
            isinstance(getattr(module, name, None), nn.Module)
            for name in names)

    is_resnet = has('conv1') and has('conv2') and hasattr(module, 'downsample')
    is_transformer = has('attn', 'self_attention') and has('mlp', 'ffn')
    return is_resnet or is_transformer


def watch_step(step: Any, observe: Observe) -> Stop:
    """Watch a step of this package at work.

    Args:
        step (nn.Module): The step.
        observe (Callable): Called after every forward pass.

    Returns:
        Callable: Ends it.
    """
    seen: List[Tensor] = []

    def remember(residual: Tensor, identity: Optional[Tensor]) -> Tensor:
        seen[:] = [type(step).step_size(step, residual, identity)]
        return seen[0]

    @torch.no_grad()
    def after(_: nn.Module, args: Tuple[Any, ...], output: Tensor) -> None:
        residual, identity = args
        if not seen:
            remember(residual, identity)
        observe(identity, step.derivative(residual, identity), seen.pop())

    # The step size of this very pass: to compute it again would cost a pass
    # over the features and, in training mode, update running statistics.
    step.step_size = remember
    handle = step.register_forward_hook(after)

    def stop() -> None:
        handle.remove()
        del step.step_size

    return stop


def watch_block(block: nn.Module, observe: Observe) -> Stop:
    """Watch a residual block of any making from outside.

    Args:
        block (nn.Module): The block.
        observe (Callable): Called after every forward pass; the step size is
            one.

    Returns:
        Callable: Ends it.
    """
    inputs: List[Tensor] = []
    # Increments up to the activations, which may overwrite their input.
    increments: Dict[nn.Module, Tensor] = {}
    outputs: Dict[nn.Module, Tensor] = {}

    @torch.no_grad()
    def before(_: nn.Module, args: Tuple[Any, ...]) -> None:
        inputs[:] = [args[0]]

    @torch.no_grad()
    def before_act(act: nn.Module, args: Tuple[Any, ...]) -> None:
        if inputs and args[0].shape == inputs[0].shape:
            increments[act] = _difference(args[0], inputs[0])

    def after_act(act: nn.Module, args: Tuple[Any, ...],
                  output: Tensor) -> None:
        outputs[act] = output

    @torch.no_grad()
    def after(_: nn.Module, args: Tuple[Any, ...], output: Tensor) -> None:
        state = inputs.pop()
        if output.shape != state.shape:
            raise ValueError(
                'a measured block must keep the shape of its input, got '
                f'{tuple(state.shape)} -> {tuple(output.shape)}')
        last = [act for act, out in outputs.items() if out is output]
        increment = increments[last[0]] if last else _difference(output, state)
        increments.clear()
        outputs.clear()
        observe(state, increment, increment.new_ones(()))

    acts = [child for child in block.children() if _is_activation(child)]
    handles = [
        block.register_forward_pre_hook(before),
        block.register_forward_hook(after)
    ]
    for act in acts:
        handles += [
            act.register_forward_pre_hook(before_act),
            act.register_forward_hook(after_act)
        ]

    def stop() -> None:
        for handle in handles:
            handle.remove()

    return stop


def _is_activation(module: nn.Module) -> bool:
    return type(module).__module__ == 'torch.nn.modules.activation'


def _difference(following: Tensor, state: Tensor) -> Tensor:
    dtype = torch.promote_types(state.dtype, torch.float32)
    return following.to(dtype) - state.to(dtype)
