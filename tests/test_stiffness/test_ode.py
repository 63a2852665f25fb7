# Copyright (c) mmstepnet contributors. All rights reserved.
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmstepnet.stiffness.ode import (linear, stiffness_aware_index,
                                     stiffness_index, van_der_pol)
from mmstepnet.stiffness.ranks import rank_correlation


def symmetric(rates, seed):
    generator = torch.Generator().manual_seed(seed)
    size = len(rates)
    basis = torch.linalg.qr(
        torch.randn(size, size, generator=generator).double())[0]
    return basis @ torch.diag(torch.tensor(
        rates, dtype=torch.float64)) @ basis.T, basis


def test_stiffness_index_of_complex_eigenvalues():
    rotation = torch.tensor([[-3., 40.], [-40., -3.]])
    assert stiffness_index(rotation).item() == pytest.approx(3, rel=1e-5)
    assert stiffness_index(torch.zeros(5, 2, 2)).tolist() == [0] * 5


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.floats(-50, 5).filter(lambda r: abs(r) > 0.1),
        min_size=2,
        max_size=5), st.integers(0, 99))
def test_linear_system_from_one_state_to_the_next(rates, seed):
    """SAI is a mean of the rates, weighted by the modes in the state.

    So it lies between the smallest and the largest, SI is the most that it
    can be, and the state along the fastest mode reaches it.
    """
    matrix, basis = symmetric(rates, seed)
    ode = linear(matrix)
    si = stiffness_index(matrix).item()
    assert si == pytest.approx(max(map(abs, rates)), rel=1e-9)
    dt = 1e-6
    for start in (ode.start, basis[:, torch.tensor(rates).abs().argmax()]):
        states = torch.stack(
            [torch.matrix_exp(matrix * t) @ start for t in (0., dt)])
        sai = stiffness_aware_index(states, torch.tensor([0., dt]))
        modes = basis.T @ start
        expected = (torch.tensor(rates, dtype=torch.float64) *
                    modes).norm() / modes.norm()
        assert sai.item() == pytest.approx(expected.item(), rel=1e-3)
        assert min(map(abs, rates)) * (1 - 1e-3) <= sai.item()
        assert sai.item() <= si * (1 + 1e-3)
    assert sai.item() == pytest.approx(si, rel=1e-3)


def test_first_order_in_the_step_size():
    ode = linear(torch.diag(torch.tensor([-1., -50.])))
    exact = (1 + 50**2)**0.5 / 2**0.5
    errors = []
    for dt in (1e-3, 5e-4):
        times = torch.tensor([0., dt], dtype=torch.float64)
        sai = stiffness_aware_index(ode.solve(times), times).item()
        errors.append(abs(sai - exact))
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize('mu', [1, 10, 100])
def test_van_der_pol(mu):
    """The peak of SAI grows with that of SI and falls into the same jump."""
    ode = van_der_pol(mu)
    times = torch.linspace(0, max(1.2 * mu, 6), 60001, dtype=torch.float64)
    states = ode.solve(times, 1e-8)
    si = ode.stiffness_index(states)
    sai = ode.stiffness_aware_index(states)
    assert 0.7 < sai.max() / si.max() < 1
    assert si.max() == pytest.approx(3 * mu, rel=0.05)
    if mu >= 10:
        jump = times[si.argmax()] - times[sai.argmax()]
        assert abs(jump) < 3 / mu
        # Between the jumps the solution creeps where its field is stiff.
        assert sai.median() < si.median() / 100


def test_index_at_a_state_is_the_limit_of_small_steps():
    ode = van_der_pol(5.)
    times = torch.linspace(0, 1e-4, 3, dtype=torch.float64)
    states = ode.solve(times)
    exact = ode.stiffness_aware_index(states)[0]
    stepped = stiffness_aware_index(states, times)[0]
    assert stepped.item() == pytest.approx(exact.item(), rel=1e-3)
    expected = ode.field(states[0]).norm() / states[0].norm()
    assert exact.item() == pytest.approx(expected.item(), rel=1e-12)


def test_rank_correlation():
    both = rank_correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    assert both.kendall == pytest.approx(0.6)
    assert both.spearman == pytest.approx(0.8)
    assert 0 < both.kendall_p < 1 and both.num_pairs == 5
    assert math.isnan(rank_correlation([1, 1], [1, 2]).kendall)
    with pytest.raises(ValueError, match='equal length'):
        rank_correlation([1, 2], [1])
    with pytest.raises(ValueError, match='finite'):
        rank_correlation([1, float('nan')], [1, 2])


def test_wrong_input():
    with pytest.raises(ValueError, match=r'got \(2, 3\)'):
        stiffness_index(torch.rand(2, 3))
    with pytest.raises(ValueError, match=r'got \(3, 2\) and \(2,\)'):
        stiffness_aware_index(torch.rand(3, 2), torch.rand(2))
