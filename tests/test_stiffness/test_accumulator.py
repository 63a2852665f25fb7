# Copyright (c) mmstepnet contributors. All rights reserved.
import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmstepnet.stiffness import StiffnessAccumulator, estimate, tns

STAGES = dict(layer1=['layer1.1', 'layer1.2'], layer2=['layer2.1'])
STAGES_SIZES = [2, 1]


def numbers(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 3, 3, generator=generator) + 0.1


def filled(values, ids=None, batch=5):
    accumulator = StiffnessAccumulator(STAGES)
    ids = range(len(values)) if ids is None else ids
    for start in range(0, len(values), batch):
        accumulator.update(ids[start:start + batch],
                           values[start:start + batch])
    return accumulator


def assert_same(left, right):
    assert left.non_finite == right.non_finite
    left, right = left.scalars(), right.scalars()
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert value == pytest.approx(right[name], rel=1e-12), name


@pytest.mark.parametrize('dt, column', [('own', 0), ('unit', 1)])
def test_report_against_numpy(dt, column):
    values = numbers(600)
    report = filled(values).compute(dt)
    nsi = values[..., column].double().numpy()
    single = tns(values[..., column], STAGES_SIZES).numpy()
    assert report.total == pytest.approx(
        (single.mean(), single.std(ddof=1) / math.sqrt(600), 600))
    low, high = report.total.interval(0.95)
    assert high - low == pytest.approx(2 * 1.959964 * report.total.stderr)
    assert report.stages['layer2'].mean == 0
    assert report.undefined == ['layer2']
    block = report.blocks['layer1.2']
    assert block.nsi == pytest.approx(nsi[:, 1].mean())
    assert block.nsi_std == pytest.approx(nsi[:, 1].std(ddof=1))
    assert block.step_size == pytest.approx(values[:, 1, 2].mean().item())


def test_surfaces():
    values = numbers(300)
    accumulator = filled(values)
    m1, m2 = np.linspace(0, 1, 5), np.linspace(0, 1, 4)
    from mmstepnet.stiffness import delta, proportion
    assert torch.equal(
        accumulator.delta(m1, m2).round(decimals=12),
        delta(values[..., 0], m1, m2, STAGES_SIZES).round(decimals=12))
    assert torch.equal(
        accumulator.proportion(m1, dt='unit').round(decimals=12),
        proportion(values[..., 1], m1,
                   stage_sizes=STAGES_SIZES).round(decimals=12))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=20, max_size=20),
    st.permutations(range(4)), st.integers(1, 7))
def test_merging_in_any_split_and_order(owners, order, batch):
    values = numbers(20)
    values[4, 1] = math.nan
    parts = []
    for owner in range(4):
        ids = [i for i in range(20) if owners[i] == owner] + [0]
        parts.append(filled(values[ids], ids, batch))
    merged = parts[order[0]]
    for index in order[1:]:
        merged.merge(parts[index])
    assert_same(merged.compute(), filled(values).compute())


def test_state_dict_through_a_file():
    values = numbers(10)
    values[3, 0, 0] = math.inf
    whole = filled(values, batch=3)
    half = filled(values[:6], batch=3)
    file = io.BytesIO()
    torch.save(half.state_dict(), file)
    file.seek(0)
    resumed = StiffnessAccumulator(STAGES)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    resumed.update(range(6, 10), values[6:])
    assert_same(resumed.compute(), whole.compute())
    resumed.reset()
    assert resumed.compute().total.num_samples == 0
    assert 'no sample' in resumed.compute().summary()


def test_samples_that_are_not_finite_are_named():
    values = numbers(6)
    values[2, 1, 0] = math.nan
    values[5, 2, 1] = math.inf
    report = filled(values, list('abcdef'), batch=4).compute()
    assert report.non_finite == {'c': 'layer1.2', 'f': 'layer2.1'}
    assert report.total.num_samples == 4
    kept = filled(values[[0, 1, 3, 4]]).compute()
    assert report.total == kept.total and report.blocks == kept.blocks
    assert 'c (from layer1.2)' in report.summary()
    assert '2 samples' in report.summary()


def test_a_repeated_sample_counts_if_it_was_finite_once():
    values = numbers(3)
    broken = values.clone()
    broken[:, 1, 0] = math.nan
    for batches in ((values, broken), (broken, values)):
        report = filled(torch.cat(batches), list('abcabc')).compute()
        assert report.total == filled(values).compute().total
        assert report.non_finite == {}


def test_memory():
    count = 5000
    stages = dict(s=[str(i) for i in range(12)])
    accumulator = StiffnessAccumulator(stages)
    for i in range(count):
        accumulator.update([i], torch.rand(1, 12, 3))
    held = sum(part.untyped_storage().nbytes() + 500
               for chunk in accumulator._chunks + accumulator._recent
               for part in chunk)
    assert held <= 2**20 + 16 * count * 12
    assert accumulator.compute().total.num_samples == count


def synchronized(rank, world_size, counts):
    values = numbers(sum(counts))
    values[1, 0] = math.nan
    start = sum(counts[:rank])
    ids = range(start, start + counts[rank])
    accumulator = filled(values[start:start + counts[rank]], ids)
    accumulator.synchronize()
    return accumulator.compute()


@pytest.mark.ddp
@pytest.mark.parametrize('counts', [(4, 3), (7, 0), (600, 300)])
def test_processes(gloo_pool, counts):
    values = numbers(sum(counts))
    values[1, 0] = math.nan
    expected = filled(values).compute()
    for report in gloo_pool.run(synchronized, counts):
        assert_same(report, expected)


def test_estimate_of_few():
    assert math.isnan(estimate(torch.empty(0)).mean)
    single = estimate(torch.tensor([2.]))
    assert single.mean == 2 and math.isnan(single.stderr)


def test_wrong_input():
    accumulator = StiffnessAccumulator(STAGES)
    with pytest.raises(ValueError, match=r'\(2, 3, 3\), got \(1, 3, 3\)'):
        accumulator.update([0, 1], numbers(1))
    other = StiffnessAccumulator(dict(layer1=['layer1.1']))
    with pytest.raises(ValueError, match='another network'):
        accumulator.merge(other)
    with pytest.raises(ValueError, match='another network'):
        accumulator.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="'own' or 'unit', got 'one'"):
        accumulator.compute('one')
    with pytest.raises(ValueError, match='between 0 and 1'):
        estimate(torch.rand(3)).interval(95)
