# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Callable, Dict

import torch
from torch import Tensor, nn

from mmstepnet.steps import InResNet


def block_damping(model: nn.Module, run: Callable[[],
                                                  Any]) -> Dict[str, Tensor]:
    """The damping of every damped block in a forward pass.

    Args:
        model (nn.Module): A network with steps of
            :class:`~mmstepnet.steps.InResNet` or its kin.
        run (Callable): A forward pass of N images.

    Returns:
        dict[str, Tensor]: Mean damping of each image, (N,), by block.

    Raises:
        ValueError: If no block is damped.

    Example:
        >>> from mmstepnet.backbones import CIFARResNet
        >>> model = CIFARResNet(20, step=dict(
        ...     type='InResNet', init_range=(0.2, 0.2)))
        >>> images = torch.rand(2, 3, 8, 8)
        >>> block_damping(model, lambda: model(images))['layer1.1']
        tensor([0.2000, 0.2000])
    """
    steps = {
        name.removesuffix('.step'): module
        for name, module in model.named_modules()
        if isinstance(module, InResNet)
    }
    if not steps:
        raise ValueError(f'expected steps of the type InResNet in '
                         f'{type(model).__name__}, got none')
    results: Dict[str, Tensor] = {}

    def watch(name: str) -> Callable[..., None]:

        def hook(step: InResNet, args: Any, output: Tensor) -> None:
            damping = step.damping(args[1]).detach().float()
            mean = damping.flatten(1).mean(1) if damping.dim() > 1 else damping
            results[name] = mean.expand(len(output))

        return hook

    handles = [
        step.register_forward_hook(watch(name))
        for name, step in steps.items()
    ]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return {name: results[name] for name in steps}
