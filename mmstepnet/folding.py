# Copyright (c) mmstepnet contributors. All rights reserved.
"""Constant step sizes into the last layer of each residual branch."""
import copy
from typing import Any, Dict

from mmengine.config import Config
from torch import Tensor, nn

from .steps import Step, Unit, build_step, constant_step_size


def step_blocks(model: nn.Module) -> Dict[str, Any]:
    """The blocks of a model whose step isn't a plain one.

    Args:
        model (nn.Module): The model.

    Returns:
        dict[str, nn.Module]: Name to block.
    """
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(getattr(module, 'step', None), Step)
        and not isinstance(module.step, Unit)
    }


def _constant(name: str, block: Any) -> Tensor:
    constant = constant_step_size(block.step)
    if constant is None or not hasattr(block, 'scale_residual'):
        raise ValueError(
            f'only a constant step size folds, that of {name} '
            f'({type(block.step).__name__}) depends on the input or its block '
            "has no layer to take it: train with step=dict(type='"
            "mmstepnet.ASR') to fold.")
    return constant


def fold_steps(model: nn.Module) -> Dict[str, Tensor]:
    """Turn a network with constant step sizes into a plain ResNet.

    With :math:`y = \\mathrm{BN}(x) \\, c` the last batch norm of each block
    becomes :math:`\\gamma c, \\beta c`, and the step a plain one without
    parameters. The network computes the same, costs what a plain ResNet
    costs, and its ``state_dict`` loads into one (``step=None``).

    Constant are the sizes of ASR steps, and of any step whose
    :meth:`~mmstepnet.steps.Step.input_weights` are zero. Either all blocks
    are folded or, after an error, none.

    Args:
        model (nn.Module): Network with residual blocks, in evaluation mode.
            Modified in place.

    Returns:
        dict[str, Tensor]: Folded blocks and their step sizes (C,).

    Raises:
        ValueError: If the model is in training mode, has no step (a plain
            network, or one that is folded already), or has one whose size
            depends on the input.

    Source:
        Zhong et al., "ASR: Attention-alike Structural Re-parameterization",
        arXiv 2304.06345, Eq. 6.

    Example:
        >>> from mmstepnet.backbones import ResNet
        >>> model = ResNet(18, step='ASR').eval()
        >>> folded = fold_steps(model)
        >>> len(folded), folded['layer1.0'].shape
        (8, torch.Size([64]))
        >>> plain = ResNet(18)
        >>> plain.load_state_dict(model.state_dict())
        <All keys matched successfully>
    """
    if any(module.training for module in model.modules()):
        raise ValueError('a model folds in evaluation mode, got one in '
                         'training mode: call model.eval() first.')
    blocks = step_blocks(model)
    if not blocks:
        raise ValueError('expected a model whose residual blocks have a step, '
                         'got a plain one: there is nothing to fold, or it '
                         'has been folded already.')
    constants = {
        name: _constant(name, block)
        for name, block in blocks.items()
    }
    for block in blocks.values():
        block.require_scalable()
    for name, block in blocks.items():
        block.scale_residual(constants[name])
        block.step = build_step(None, block.step.in_channels).eval()
    return constants


def plain_config(cfg: Config) -> Config:
    """The config of the folded model.

    Args:
        cfg (Config): Config of the model with steps. Not modified.

    Returns:
        Config: The same with a plain backbone that starts from no checkpoint
        and without the hook that folds.

    Example:
        >>> cfg = Config(dict(model=dict(backbone=dict(step='ASR'))))
        >>> plain_config(cfg).model.backbone
        {'step': None, 'init_cfg': None}
    """
    cfg = copy.deepcopy(cfg)
    cfg.model.backbone.update(step=None, init_cfg=None)
    if cfg.get('custom_hooks'):
        cfg.custom_hooks = [
            hook for hook in cfg.custom_hooks
            if not str(hook.get('type')).endswith('FoldStepsHook')
        ]
    return cfg
