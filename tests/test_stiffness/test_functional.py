# Copyright (c) mmstepnet contributors. All rights reserved.
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grid_tns, is_stiff

from mmstepnet.stiffness import (delta, delta_function, excess, nsi,
                                 proportion, proportion_function, stage_tns,
                                 staircase_area, tns)
from mmstepnet.stiffness.functional import l2_norm

fast = settings(max_examples=60, deadline=None)


@st.composite
def trajectories(draw, samples=1):
    """NSI (samples, L) and the stage sizes."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    number = st.floats(1e-3, 1e3)
    rows = [
        draw(st.lists(number, min_size=sum(sizes), max_size=sum(sizes)))
        for _ in range(samples)
    ]
    return torch.tensor(
        rows, dtype=torch.float64).reshape(samples, sum(sizes)), sizes


@pytest.mark.parametrize(
    'values, sizes, expected',
    [
        ((1, 3), None, 1.5),
        ((1, 3), (2, ), 1.5),
        ((5, ), None, 0),
        ((1, 3, 7), (2, 1), 1.5),
        ((7, 1, 3), (1, 2), 1.5),
        ((0.1, ) * 5, None, 0),
        ((0, 0, 0), None, 0),
        ((), None, 0),
        # widths 1 and 0.5 with heights 2 and 3: 2 * 0.5 + 3 * 0.5
        ((0, 2, 1, 3), (2, 2), 2.5),
    ])
def test_tns_by_hand(values, sizes, expected):
    row = torch.tensor([values], dtype=torch.float32)
    assert tns(row, sizes).tolist() == [expected]


def test_stages_add_up_to_no_more_than_their_sum():
    row = torch.tensor([[1., 3., 0., 2.]])
    assert stage_tns(row, (2, 2)).tolist() == [[1.5, 2.0]]
    assert tns(row, (2, 2)).item() == 2.5


@fast
@given(trajectories())
def test_tns_against_the_grid(case):
    values, sizes = case
    area, bound = grid_tns(values[0].numpy(), sizes)
    assert abs(tns(values, sizes).item() - area) <= bound


@fast
@given(trajectories(samples=3), st.floats(0, 4), st.floats(0, 50))
def test_shares_against_the_definition(case, m1, m2):
    values, sizes = case
    # Off the edges, where rounding decides.
    m1, m2 = np.array([m1 + 0.123456789]), np.array([m2 + 0.123456789])
    stiff = np.stack([is_stiff(v, sizes, m1, m2) for v in values.numpy()])
    assert delta(values, m1, m2,
                 sizes).item() == pytest.approx(stiff.any(1).mean())
    expected = stiff.mean() if stiff.size else 0
    assert proportion(values, m1, m2, sizes).item() == pytest.approx(expected)
    at = torch.from_numpy(m1)
    assert proportion_function(
        values, sizes, m2=m2.item())(at).item() == pytest.approx(expected)
    assert delta_function(
        values, sizes,
        m2=m2.item())(at).item() == pytest.approx(stiff.any(1).mean())
    assert delta_function(
        values, sizes,
        m1=m1.item())(torch.from_numpy(m2)).item() == pytest.approx(
            stiff.any(1).mean())


@fast
@given(trajectories(samples=4))
def test_tns_is_the_integral_of_delta(case):
    values, sizes = case
    widths = excess(values, sizes)
    edges = torch.cat([torch.zeros(1), widths[widths > 0]]).unique()
    columns = [
        delta_function(values, sizes, m1=(a + b).item() / 2).integral() *
        (b - a) for a, b in zip(edges, edges[1:])
    ]
    assert float(sum(columns)) == pytest.approx(
        tns(values, sizes).mean().item(), rel=1e-9, abs=1e-9)


@fast
@given(trajectories(), st.randoms())
def test_order_of_blocks_within_a_stage(case, random):
    values, sizes = case
    order, start = [], 0
    for size in sizes:
        stage = list(range(start, start + size))
        random.shuffle(stage)
        order += stage
        start += size
    assert tns(values[:, order], sizes).item() == pytest.approx(
        tns(values, sizes).item(), rel=1e-12)


@fast
@given(trajectories(), st.floats(1e-3, 1e3))
def test_tns_scales_with_nsi(case, scale):
    values, sizes = case
    assert tns(scale * values, sizes).item() == pytest.approx(
        scale * tns(values, sizes).item(), rel=1e-9, abs=1e-9)


@fast
@given(trajectories(), st.integers(0, 100), st.floats(0, 1e3))
def test_monotone_in_any_nsi_at_fixed_mean(case, block, rise):
    low, sizes = case
    if low.numel() == 0:
        return
    mean = low / (excess(low, sizes) + 1).clamp(min=1e-300)
    high = low.clone()
    high[0, block % low.numel()] += rise
    before = staircase_area(low / mean - 1, low).item()
    assert staircase_area(high / mean - 1, high).item() >= before * (1 - 1e-12)


@fast
@given(st.floats(1e-3, 1e3), st.sampled_from([torch.float16, torch.float32]))
def test_nsi_does_not_depend_on_the_scale(scale, dtype):
    torch.manual_seed(0)
    state, derivative = torch.randn(2, 3, 4, 5, 5)
    scaled = nsi((scale * state).to(dtype), (scale * derivative).to(dtype))
    rel = 1e-5 if dtype == torch.float32 else 1e-2
    assert scaled.tolist() == pytest.approx(
        nsi(state, derivative).tolist(), rel=rel)


def test_nsi_against_numpy():
    state, derivative = np.random.RandomState(0).randn(2, 4, 3, 64, 64)
    expected = [
        np.linalg.norm(d.ravel()) / np.linalg.norm(s.ravel())
        for s, d in zip(state, derivative)
    ]
    got = nsi(
        torch.from_numpy(state).float(),
        torch.from_numpy(derivative).float())
    assert got.tolist() == pytest.approx(expected, rel=1e-6)


def test_nsi_of_half_precision_does_not_overflow():
    large = torch.full((1, 8, 64, 64), 6e4, dtype=torch.float16)
    assert nsi(large, large).tolist() == [1]


@pytest.mark.parametrize('memory_format',
                         [torch.contiguous_format, torch.channels_last])
def test_norm_of_a_large_map_keeps_its_digits(memory_format):
    features = torch.rand(1, 2, 1000, 1000).to(memory_format=memory_format)
    assert l2_norm(features).item() == pytest.approx(
        features.double().norm().item(), rel=1e-6)


def test_a_norm_beyond_the_range_is_no_number():
    huge, one = torch.full((1, 2, 4, 4), 3e19), torch.ones(1, 2, 4, 4)
    assert nsi(huge, one).isnan().all() and nsi(one, huge).isnan().all()


@pytest.mark.parametrize('count', [2, 3, 5, 7])
def test_equal_blocks_are_at_the_mean(count):
    values = torch.full((1, count), .1)
    assert proportion(values, [0.]).item() == 1
    assert tns(values).item() == 0


def test_gradient():
    values = torch.rand(3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: tns(v, (2, 4)), values)
    zero = torch.zeros(1, 3, requires_grad=True)
    tns(zero).sum().backward()
    assert zero.grad.isfinite().all()


@pytest.mark.parametrize('call, sentence', [
    (lambda: tns(torch.rand(3)), r'\(samples, blocks\), got \(3,\)'),
    (lambda: tns(torch.rand(1, 3), (2, 2)), 'add up to the 3 blocks'),
    (lambda: nsi(torch.rand(1, 2), torch.rand(1, 3)), 'same shape'),
    (lambda: delta_function(torch.rand(1, 2)), 'fix one of m1 and m2'),
])
def test_wrong_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_needs_nothing_but_torch():
    code = ('import sys, mmstepnet.stiffness\n'
            'heavy = ["mmengine", "mmcv", "mmdet", "scipy", "matplotlib"]\n'
            'print([name for name in heavy if name in sys.modules])')
    result = subprocess.run([sys.executable, '-c', code],
                            capture_output=True,
                            text=True,
                            check=True)
    assert result.stdout.strip() == '[]'
