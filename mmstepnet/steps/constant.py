# Copyright (c) mmstepnet contributors. All rights reserved.
"""Steps whose size doesn't depend on the input: to start from, to fold."""
import copy
from typing import Optional, Sequence

import torch
from torch import Tensor

from .base import Step
from .excitation import PooledBatchNorm


@torch.no_grad()
def constant_step_size(step: Step) -> Optional[Tensor]:
    """The constant that multiplies the residual branch, if it is one.

    Args:
        step (Step): The step, as it is now.

    Returns:
        Tensor, optional: Step sizes (C,), so that in evaluation the next
        state is ``identity + constant * residual``. None if the step size
        depends on the input or the step scales the state.

    Example:
        >>> from mmstepnet.steps import SE, StepNet
        >>> constant_step_size(StepNet(2))
        tensor([0.2689, 0.2689])
        >>> constant_step_size(SE(16)) is None
        True
    """
    weights = step.input_weights()
    if weights is None or any(weight.any() for weight in weights):
        return None
    tensor = next(iter([*step.parameters(), *step.buffers()]), torch.ones(1))
    # a copy in evaluation mode keeps the mode and the statistics as they are
    step = copy.deepcopy(step).eval().double()
    residual, identity = tensor.new_tensor([[1.], [2.]],
                                           dtype=torch.float64).repeat(
                                               1,
                                               step.in_channels)[..., None,
                                                                 None].split(1)
    step_size = step.step_size(residual, identity).expand_as(residual)
    expected = torch.addcmul(identity, residual, step_size)
    if not torch.allclose(
            step(residual, identity), expected, rtol=1e-12, atol=0):
        return None
    return step_size.flatten().to(tensor.dtype)


def require_input_weights(step: Step) -> Sequence[Tensor]:
    """The step's :meth:`~mmstepnet.steps.Step.input_weights`.

    Args:
        step (Step): The step.

    Returns:
        Sequence[Tensor]: The weights.

    Raises:
        ValueError: If the step doesn't know them.
    """
    weights = step.input_weights()
    if weights is None:
        raise ValueError(
            f'the size of a {type(step).__name__} step can not be made '
            'constant: expected input_weights() to name the weights to set '
            'to zero, got None')
    return weights


@torch.no_grad()
def make_constant(step: Step) -> Optional[Tensor]:
    """Make the step size a constant that training can still change.

    Args:
        step (Step): The step; its :meth:`~mmstepnet.steps.Step.input_weights`
            become zero, and its batch norms forget their statistics.

    Returns:
        Tensor, optional: Step sizes (C,). None if the step scales the state,
        as one that damps it does.

    Raises:
        ValueError: If the step doesn't say how its size becomes constant.

    Example:
        >>> from mmstepnet.steps import ECA
        >>> make_constant(ECA(2))
        tensor([0.5000, 0.5000])
    """
    for weight in require_input_weights(step):
        weight.zero_()
    for module in step.modules():
        if isinstance(module, PooledBatchNorm):
            module.reset_running_stats()  # of other inputs than zero
    return constant_step_size(step)
