# Copyright (c) mmstepnet contributors. All rights reserved.
"""``identity + residual * step_size`` without keeping the residual.

The gradient of the step size needs the residual. Behind a batch norm, though,
it is an affine function of what that norm keeps anyway, and the gradient is
that of a batch norm's weight and bias, sample by sample. Wherever this is not
known to hold, the sum is PyTorch's ``addcmul``: behind cuDNN's batch norm,
under compilation, checkpointing, ``torch.func`` and forward-mode
differentiation, for a residual that was written to, and in a PyTorch that
doesn't tell of all these, as 2.4.
"""
from typing import Any, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function


class NormSource(NamedTuple):
    """The batch norm that a residual comes from."""
    x: Tensor
    weight: Tensor
    bias: Tensor
    running_mean: Optional[Tensor]
    running_var: Optional[Tensor]
    mean: Tensor
    inverse_deviation: Tensor
    training: bool
    eps: float


def _autograd_is_plain() -> bool:
    """Whether no context changes what is kept and how it is used."""
    hooks = getattr(torch._C._autograd, '_top_saved_tensors_default_hooks',
                    None)
    transforms = getattr(torch._C, '_are_functorch_transforms_active', None)
    level = getattr(torch.autograd.forward_ad, '_current_level', None)
    return hooks is not None and hooks(False) is None and \
        transforms is not None and not transforms() and level == -1


def norm_source(residual: Tensor) -> Optional[NormSource]:
    """The batch norm that a residual comes from, if that is known.

    Args:
        residual (Tensor): Output of the residual branch, (N, C, H, W).

    Returns:
        NormSource, optional: What the norm keeps for its own gradient.

    Example:
        >>> x = torch.rand(2, 4, 3, 3, requires_grad=True)
        >>> source = norm_source(torch.nn.BatchNorm2d(4)(x))
        >>> source is None or source.x is x  # None in an old PyTorch
        True
        >>> norm_source(x) is None
        True
    """
    node: Any = residual.grad_fn
    if type(node).__name__ != 'NativeBatchNormBackward0' or \
            residual._version or not _autograd_is_plain():
        return None
    try:
        weight = node._saved_weight
    except RuntimeError:  # a backward pass has freed what the norm kept
        return None
    bias = getattr(node.next_functions[2][0], 'variable', None)
    if weight is None or bias is None:
        return None
    running_mean = node._saved_running_mean
    running_var = node._saved_running_var
    training = node._saved_training
    if training:
        mean, inverse = node._saved_result1, node._saved_result2
    else:
        mean = running_mean
        inverse = (running_var + node._saved_eps).rsqrt()
    return NormSource(node._saved_input, weight, bias, running_mean,
                      running_var, mean, inverse, training, node._saved_eps)


class _ScaledAdd(Function):

    @staticmethod
    def forward(ctx, residual, identity, step_size, training, eps, *source):
        ctx.save_for_backward(step_size, *source)
        ctx.training, ctx.eps = training, eps
        return torch.addcmul(identity, residual, step_size)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tuple[Optional[Tensor], ...]:
        step_size, *source = ctx.saved_tensors
        norm = NormSource._make([*source, ctx.training, ctx.eps])
        if torch.is_grad_enabled() or grad.dtype != norm.x.dtype or not (
                grad.is_contiguous() and norm.x.is_contiguous()):
            of_size = _project(grad, norm)
        else:
            of_size = _project_fast(grad, norm)
        of_size = of_size.sum_to_size(step_size.shape).to(step_size.dtype)
        return (grad * step_size, grad, of_size, *[None] * 9)


def _project(grad: Tensor, norm: NormSource) -> Tensor:
    """Sum of ``grad * residual`` over space, (N, C, 1, 1)."""
    running = (None, None) if norm.training else (norm.running_mean,
                                                  norm.running_var)
    residual = F.batch_norm(
        norm.x,
        *running,
        norm.weight,
        norm.bias,
        training=norm.training,
        eps=norm.eps)
    dtype = torch.promote_types(grad.dtype, torch.float32)
    return (grad * residual).sum((2, 3), keepdim=True, dtype=dtype)


def _project_fast(grad: Tensor, norm: NormSource) -> Tensor:
    """The same in one pass over contiguous maps, without a temporary."""
    n, c, h, w = grad.shape
    _, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
        grad.view(1, n * c, h, w),
        norm.x.view(1, n * c, h, w), None, None, None, norm.mean.repeat(n),
        norm.inverse_deviation.repeat(n), True, norm.eps, [False, True, True])
    projected = torch.addcmul(
        of_bias.view(n, c) * norm.bias, of_weight.view(n, c), norm.weight)
    return projected[:, :, None, None]


def scaled_add(identity: Tensor, residual: Tensor,
               step_size: Tensor) -> Tensor:
    """``identity + residual * step_size``, the next state.

    Args:
        identity (Tensor): State, (N, C, H, W).
        residual (Tensor): Output of the residual branch, of the same shape.
        step_size (Tensor): Of a shape that broadcasts to it.

    Returns:
        Tensor: Next state, (N, C, H, W). In training the residual isn't kept
        for the backward pass if a batch norm made it and the step size is
        one number a channel.

    Example:
        >>> ones = torch.ones(1, 2, 2, 2)
        >>> scaled_add(ones, ones, torch.tensor(0.5)).unique()
        tensor([1.5000])
    """
    if torch.jit.is_scripting() or torch.jit.is_tracing() or \
            torch.compiler.is_compiling() or not step_size.requires_grad or \
            step_size.dim() != 4 or step_size.shape[2:].numel() != 1 or \
            residual.shape != identity.shape:
        return torch.addcmul(identity, residual, step_size)
    source = norm_source(residual)
    if source is None:
        return torch.addcmul(identity, residual, step_size)
    *tensors, training, eps = source
    return _ScaledAdd.apply(residual, identity, step_size, training, eps,
                            *tensors)
