# Copyright (c) mmstepnet contributors. All rights reserved.
"""Stiffness of ordinary differential equations."""
from dataclasses import dataclass
from typing import Callable, Tuple

import torch
from torch import Tensor

from .functional import nsi


def stiffness_index(jacobian: Tensor) -> Tensor:
    r"""Stiffness index (SI) from the Jacobian of the right-hand side.

    .. math:: \mathrm{SI} = \max_i |\mathrm{Re}\, \lambda_i(J)|

    Args:
        jacobian (Tensor): Square matrices (..., D, D).

    Returns:
        Tensor: SI (...), in 1 / time.

    Raises:
        ValueError: If the matrices are not square.

    Example:
        >>> stiffness_index(torch.diag(torch.tensor([-1., -100.])))
        tensor(100.)
    """
    if jacobian.dim() < 2 or jacobian.shape[-1] != jacobian.shape[-2]:
        raise ValueError('the Jacobian must be of shape (..., D, D), got '
                         f'{tuple(jacobian.shape)}')
    return torch.linalg.eigvals(jacobian).real.abs().amax(dim=-1)


def stiffness_aware_index(states: Tensor, times: Tensor) -> Tensor:
    r"""Stiffness-aware index (SAI) from consecutive states of a solution.

    .. math:: \mathrm{SAI}_k = \frac{\lVert (u_{k+1} - u_k) / (t_{k+1} - t_k)
        \rVert_2}{\lVert u_k \rVert_2}

    It needs no Jacobian, and is what NSI is for the blocks of a network.

    Args:
        states (Tensor): States (K + 1, D).
        times (Tensor): Their times (K + 1,), increasing.

    Returns:
        Tensor: SAI (K,), float64, in 1 / time.

    Raises:
        ValueError: If the numbers of states and times differ.

    Example:
        >>> t = torch.linspace(0, 1, 1001, dtype=torch.float64)
        >>> sai = stiffness_aware_index(torch.exp(-2 * t)[:, None], t)
        >>> sai.round(decimals=2).unique()
        tensor([2.], dtype=torch.float64)
    """
    if states.dim() != 2 or times.shape != states.shape[:1]:
        raise ValueError('states and times must be of shape (K, D) and (K,), '
                         f'got {tuple(states.shape)} and '
                         f'{tuple(times.shape)}')
    rates = states.double().diff(dim=0) / times.double().diff()[:, None]
    return nsi(states[:-1].double(), rates)


@dataclass(frozen=True)
class ODE:
    """The autonomous system du/dt = field(u) from a start.

    Attributes:
        field (Callable): Right-hand side, (D,) -> (D,), differentiable.
        start (Tensor): Start (D,).

    Example:
        >>> ode = linear(torch.diag(torch.tensor([-1., -50.])))
        >>> states = ode.solve(torch.linspace(0, 1, 5))
        >>> ode.stiffness_index(states)
        tensor([50., 50., 50., 50., 50.], dtype=torch.float64)
    """
    field: Callable[[Tensor], Tensor]
    start: Tensor

    def jacobian(self, states: Tensor) -> Tensor:
        """Jacobians (K, D, D) at the states (K, D)."""
        return torch.func.vmap(torch.func.jacrev(self.field))(states)

    def stiffness_index(self, states: Tensor) -> Tensor:
        """SI (K,) at the states (K, D)."""
        return stiffness_index(self.jacobian(states))

    def stiffness_aware_index(self, states: Tensor) -> Tensor:
        """SAI (K,) at the states (K, D), in the limit of small steps."""
        return nsi(states.double(), torch.func.vmap(self.field)(states))

    def solve(self, times: Tensor, tolerance: float = 1e-10) -> Tensor:
        """States (K, D) at the times (K,) by SciPy's implicit Radau method.

        Args:
            times (Tensor): Increasing times; the start belongs to the first.
            tolerance (float): Relative tolerance. Defaults to 1e-10.

        Returns:
            Tensor: States (K, D), float64.

        Raises:
            RuntimeError: If the solver gives up.
        """
        from scipy.integrate import solve_ivp

        def field(_, u):
            return self.field(torch.from_numpy(u)).numpy()

        def jacobian(_, u):
            return self.jacobian(torch.from_numpy(u)[None])[0].numpy()

        grid = times.double().numpy()
        solution = solve_ivp(
            field, (grid[0], grid[-1]),
            self.start.double().numpy(),
            method='Radau',
            t_eval=grid,
            rtol=tolerance,
            atol=tolerance * 1e-2,
            jac=jacobian)
        if not solution.success:
            raise RuntimeError('the solver gave up at t = '
                               f'{solution.t[-1]}: {solution.message}')
        return torch.from_numpy(solution.y.T.copy())


def linear(matrix: Tensor, start: Tensor = torch.tensor(1.)) -> ODE:
    """The linear system du/dt = matrix u.

    Args:
        matrix (Tensor): Matrix (D, D).
        start (Tensor): Start (D,) or a number for all of it. Defaults to 1.

    Returns:
        ODE: The system.
    """
    matrix = matrix.double()
    return ODE(lambda u: matrix @ u, start.double().expand(len(matrix)))


def van_der_pol(mu: float, start: Tuple[float, float] = (2., 0.)) -> ODE:
    """The van der Pol oscillator, x'' = mu (1 - x^2) x' - x.

    A textbook example of a problem that becomes stiff as ``mu`` grows: long
    stretches along a slow manifold, and jumps that take about 1 / mu.

    Args:
        mu (float): The damping.
        start (tuple[float, float]): x and x' at the start.

    Returns:
        ODE: The system of u = (x, x').
    """

    def field(u: Tensor) -> Tensor:
        return torch.stack([u[1], mu * (1 - u[0]**2) * u[1] - u[0]])

    return ODE(field, torch.tensor(start, dtype=torch.float64))
