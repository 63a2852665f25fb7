# Copyright (c) mmstepnet contributors. All rights reserved.
"""Eigenvalues of the Hessian of a loss, without the matrix."""
from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel


class HessianProduct:
    """Multiplies vectors by the Hessian of a loss.

    Args:
        loss (Callable): Computes the loss, a tensor of no dimension.
        parameters (Sequence[Tensor]): What the loss is differentiated by.

    Attributes:
        dim (int): Number of parameters.

    Example:
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> product = HessianProduct(lambda: (x[0] * x[1]**2).sum(), [x])
        >>> product(torch.tensor([1., 0.]))
        tensor([0., 4.])
    """

    def __init__(self, loss: Callable[[], Tensor],
                 parameters: Sequence[Tensor]) -> None:
        self.parameters = list(parameters)
        self.sizes = [p.numel() for p in self.parameters]
        self.dim = sum(self.sizes)
        # The fused kernels of attention have no second derivative.
        with sdpa_kernel(SDPBackend.MATH):
            self._gradient = self._differentiate(loss(), create_graph=True)

    def _differentiate(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Gradient of a number as one vector."""
        if not value.requires_grad:
            return torch.zeros(
                self.dim,
                dtype=self.parameters[0].dtype,
                device=self.parameters[0].device)
        gradients = torch.autograd.grad(
            value,
            self.parameters,
            allow_unused=True,
            materialize_grads=True,
            **kwargs)
        return torch.cat([gradient.flatten() for gradient in gradients])

    def __call__(self, vector: Tensor) -> Tensor:
        """(P,) -> (P,)."""
        return self._differentiate(
            self._gradient @ vector, retain_graph=True).detach()


class Ritz(NamedTuple):
    """What a Lanczos iteration knows of a symmetric matrix.

    Attributes:
        values (Tensor): Approximate eigenvalues, rising, (k,).
        errors (Tensor): Bounds of the distance of each to an eigenvalue.
        weights (Tensor): Weights of a quadrature with the values as nodes:
            ``sum(weights * f(values))`` estimates the mean of f over the
            eigenvalues. They add up to 1.
    """
    values: Tensor
    errors: Tensor
    weights: Tensor


def lanczos(product: Callable[[Tensor], Tensor],
            start: Tensor,
            max_steps: int = 50,
            *,
            num_top: Optional[int] = None,
            tol: float = 1e-3) -> Ritz:
    """Lanczos iteration with full reorthogonalization.

    It holds ``max_steps`` vectors. An eigenvalue that occurs more than once
    is found once.

    Args:
        product (Callable): Multiplies a vector (P,) by the matrix.
        start (Tensor): First vector, (P,), at random.
        max_steps (int): Products at most. Defaults to 50.
        num_top (int, optional): Stop once the so many largest values have an
            error below ``tol`` of their size. Defaults to None: never before
            ``max_steps`` or an invariant subspace.
        tol (float): Relative tolerance. Defaults to 1e-3.

    Returns:
        Ritz: Values in float64, on the CPU.

    Raises:
        ValueError: If ``max_steps`` is not positive.

    Source:
        Ghorbani et al., "An Investigation into Neural Net Optimization via
        Hessian Eigenvalue Density", ICML 2019, for the quadrature.

    Example:
        >>> matrix = torch.diag(torch.tensor([1., 2., 5.]))
        >>> lanczos(matrix.mv, torch.ones(3)).values
        tensor([1.0000, 2.0000, 5.0000], dtype=torch.float64)
    """
    if max_steps < 1:
        raise ValueError(f'max_steps must be positive, got {max_steps}')
    basis = [start / start.norm()]
    diagonal, off_diagonal = [], []
    for step in range(min(max_steps, start.numel())):
        vector = product(basis[-1])
        diagonal.append((vector @ basis[-1]).item())
        for _ in range(2):
            for other in basis:
                vector = vector - (vector @ other) * other
        off_diagonal.append(vector.norm().item())
        ritz = _ritz(diagonal, off_diagonal)
        scale = ritz.values.abs().max().item()
        if off_diagonal[-1] <= torch.finfo(vector.dtype).eps * scale * 10:
            break
        if num_top is not None and _is_converged(ritz, num_top, tol):
            break
        basis.append(vector / off_diagonal[-1])
    return ritz


def _ritz(diagonal: Sequence[float], off_diagonal: Sequence[float]) -> Ritz:
    beside = torch.tensor(off_diagonal[:-1], dtype=torch.float64)
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    matrix += torch.diag(beside, 1) + torch.diag(beside, -1)
    values, vectors = torch.linalg.eigh(matrix)
    return Ritz(values, off_diagonal[-1] * vectors[-1].abs(),
                vectors[0].square())


def _is_converged(ritz: Ritz, num_top: int, tol: float) -> bool:
    if len(ritz.values) <= num_top:
        return False
    values, errors = ritz.values[-num_top:], ritz.errors[-num_top:]
    return bool((errors <= tol * values.abs()).all())
