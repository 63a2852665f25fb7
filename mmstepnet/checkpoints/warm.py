# Copyright (c) mmstepnet contributors. All rights reserved.
"""Any ResNet's weights into a network with steps, with the same outputs."""
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union

import torch
from mmengine.logging import print_log
from torch import Tensor, nn

from mmstepnet.registry import WEIGHT_INITIALIZERS
from mmstepnet.steps import make_constant
from .loading import load_weights
from .matching import Matching, few


@dataclass
class WarmStartReport:
    """What a warm start did.

    Args:
        source (str): The checkpoint.
        mapped (dict[str, str]): Name in the model to name in the checkpoint.
        scaled (dict[str, float]): Block, or norm with a gate, to the mean of
            the constant by which it was divided.
        unscaled (list[str]): Blocks whose step can't keep the function of a
            plain block.
        left (list[str]): Names in the checkpoint that the model has no place
            for.
        fresh (list[str]): Names in the model, those of steps aside, that the
            checkpoint doesn't have.
    """
    source: str
    mapped: Dict[str, str] = field(default_factory=dict)
    scaled: Dict[str, float] = field(default_factory=dict)
    unscaled: List[str] = field(default_factory=list)
    left: List[str] = field(default_factory=list)
    fresh: List[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f'warm start from {self.source}']
        renamed = [(ours, theirs) for ours, theirs in self.mapped.items()
                   if ours != theirs]
        lines.append(f'  mapped: {len(self.mapped)} tensors' + (
            f', {len(renamed)} of them under another name such as '
            f'{renamed[-1][1]} -> {renamed[-1][0]}' if renamed else ''))
        if self.scaled:
            values = sorted(set(round(c, 4) for c in self.scaled.values()))
            lines.append(f'  scaled: {len(self.scaled)} norms by the '
                         'inverse of the first step size, '
                         f'{values[0]}' +
                         (f' to {values[-1]}' if values[1:] else ''))
        if self.unscaled:
            lines.append('  NOT the same function: the steps of '
                         f'{few(self.unscaled)} scale the state')
        if self.left:
            lines.append(f'  left in the checkpoint: {few(self.left)}')
        if self.fresh:
            lines.append(f'  not in the checkpoint: {few(self.fresh)}')
        return '\n'.join(lines)


def warm_start(model: nn.Module,
               checkpoint: Union[str, Dict[str, Tensor]],
               prefix: Optional[str] = None) -> WarmStartReport:
    """Start a network with steps from the weights of a ResNet.

    Where the checkpoint has no parameters for a step, the step starts with a
    constant size c and the last norm of its block is divided by c, so that
    the network computes what the checkpoint's does. Where it has, as one of
    an SE or ECA network does, they are loaded and nothing is scaled.

    The model is checked against the checkpoint as a whole before anything is
    written: after an error it is as it was.

    Args:
        model (nn.Module): A backbone, or a classifier or detector with one
            at ``backbone``. Modified in place.
        checkpoint (str | dict[str, Tensor]): What
            :func:`~mmstepnet.checkpoints.load_weights` reads, or weights.
        prefix (str, optional): Only take names that start with it. Defaults
            to None; a prefix ``'backbone.'`` is found without.

    Returns:
        WarmStartReport: What was mapped, scaled and left; prints well.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is damaged, has no weight of the model, lacks
            some of its backbone, or was trained with other steps.

    Source:
        :math:`x + \\frac{\\gamma \\hat f + \\beta}{c} \\, c = x + \\gamma
        \\hat f + \\beta`, with StepNet's c = sigmoid(-1) and other steps'
        last layer zeroed.

    Example:
        >>> import torch
        >>> from mmstepnet.backbones import ResNet
        >>> plain = ResNet(18, out_indices=(3, )).eval()
        >>> model = ResNet(18, step='StepNet', out_indices=(3, )).eval()
        >>> report = warm_start(model, plain.state_dict())
        >>> len(report.scaled)
        5
        >>> x = torch.rand(1, 3, 32, 32)
        >>> torch.allclose(model(x)[0], plain(x)[0], rtol=1e-5, atol=1e-6)
        True
    """
    if isinstance(checkpoint, str):
        source, weights = checkpoint, load_weights(checkpoint)
    else:
        source, weights = 'the given weights', checkpoint
    matching = Matching(model, source, weights, prefix)
    untrained = matching.without_step()
    constants = {
        name: make_constant(block.step)
        for name, block in untrained.items()
    }
    report = WarmStartReport(
        source,
        mapped=matching.places,
        left=[
            name for name in weights if name not in matching.places.values()
        ],
        fresh=matching.fresh())
    model.load_state_dict(matching.state_dict(), strict=False)
    for name, constant in constants.items():
        if constant is None:
            report.unscaled.append(name)
        elif not (constant == 1).all():
            untrained[name].scale_residual(1 / constant)
            report.scaled[name] = constant.mean().item()
    for name, norm in matching.without_gate().items():
        constant = norm.make_gate_constant()
        with torch.no_grad():
            norm.weight.div_(constant)
        report.scaled[name] = constant.mean().item()
    return report


@WEIGHT_INITIALIZERS.register_module()
class WarmStart:
    """Initializer that runs :func:`warm_start`.

    Args:
        checkpoint (str): What :func:`~mmstepnet.checkpoints.load_weights`
            reads.
        prefix (str, optional): Only take names that start with it.

    Example:
        >>> from mmengine.config import Config
        >>> cfg = Config(dict(
        ...     type='mmstepnet.ResNet', depth=50, step='mmstepnet.StepNet',
        ...     init_cfg=dict(type='mmstepnet.WarmStart',
        ...                   checkpoint='torchvision://resnet50')))
    """

    def __init__(self, checkpoint: str, prefix: Optional[str] = None) -> None:
        self.checkpoint = checkpoint
        self.prefix = prefix

    def __call__(self, module: nn.Module) -> None:
        """Initialize what the checkpoint lacks, then start from it.

        Args:
            module (nn.Module): The backbone or model.
        """
        # MMEngine initializes the children after this, unless they are
        for child in module.children():
            initialize: Any = getattr(child, 'init_weights', None)
            if initialize and not getattr(child, 'is_init', False):
                initialize()
        report = warm_start(module, self.checkpoint, self.prefix)
        print_log(str(report), logger='current')
        if hasattr(module, '_params_init_info'):
            from mmengine.model import update_init_info
            update_init_info(
                module, init_info=f'WarmStart: from {self.checkpoint}')
