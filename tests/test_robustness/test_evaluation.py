# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from classifiers import tiny_dataset
from torch import nn

from mmstepnet.evaluation import PixelBatches
from mmstepnet.robustness import (Robustness, attack_case, clean_case,
                                  evaluate_robustness, noise_case,
                                  plot_robustness, robustness_table,
                                  standard_cases)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 10)).eval()


def evaluate(folder, cases=None, batch_size=5, **kwargs):
    return evaluate_robustness(
        network(), PixelBatches(tiny_dataset(), batch_size), cases or
        [clean_case(),
         attack_case('pgd', 2, steps=3),
         noise_case('shot', 5)], str(folder), **kwargs)


def test_standard_cases_are_those_of_the_paper():
    cases = standard_cases()
    levels = {}
    for case in cases:
        levels.setdefault(case.group, []).append(case.level)
    assert levels == dict(
        clean=[0],
        fgsm=[1, 2, 4],
        ifgsm=[1, 2, 4],
        pgd=[1, 2, 4],
        gaussian=[1, 2, 3, 4, 5],
        shot=[1, 2, 3, 4, 5],
        impulse=[1, 2, 3, 4, 5],
        speckle=[1, 2, 3, 4, 5])
    assert len({case.name for case in cases}) == 30
    assert {case.detail
            for case in cases if case.group == 'pgd'} == {'20 steps of 2/255'}


def test_numbers_by_hand(tmp_path):
    clean, attacked, noisy = evaluate(tmp_path)
    images = torch.stack([d['inputs'] for d in tiny_dataset()]) / 255
    labels = torch.arange(12) % 10
    logits = network()(images)
    accuracy = (logits.argmax(1) == labels).double().mean().item()
    loss = nn.functional.cross_entropy(logits, labels).item()
    assert clean.accuracy == accuracy and clean.num_images == 12
    assert clean.loss == pytest.approx(loss, rel=1e-5)
    assert clean.stderr == pytest.approx((accuracy * (1 - accuracy) / 12)**0.5)
    assert clean.max_norm == 0
    assert attacked.loss > clean.loss
    assert 1.99 < attacked.max_norm <= 2 and noisy.max_norm > 20


def test_batches_do_not_matter(tmp_path):
    for a, b in zip(
            evaluate(tmp_path / 'a', batch_size=5),
            evaluate(tmp_path / 'b', batch_size=3)):
        assert a.accuracy == b.accuracy
        assert a.loss == pytest.approx(b.loss, rel=1e-5)


def test_another_evaluation_in_the_same_folder_is_refused(tmp_path):
    first = evaluate(tmp_path)
    assert evaluate(tmp_path) == first
    with pytest.raises(ValueError, match='other settings: seed=0'):
        evaluate(tmp_path, seed=1)
    # as many batches, but others
    with pytest.raises(ValueError, match=r'batch_size=5 \(now 4\)'):
        evaluate(tmp_path, batch_size=4)
    with pytest.raises(ValueError, match='other settings: cases='):
        evaluate(tmp_path, cases=[clean_case()])
    with pytest.raises(ValueError, match='3 steps of 2/255'):
        evaluate(
            tmp_path,
            cases=[
                clean_case(),
                attack_case('pgd', 2, steps=4),
                noise_case('shot', 5)
            ])


def shared(rank, world_size, folder):
    return evaluate(folder)


@pytest.mark.ddp
def test_two_processes_give_the_numbers_of_one(tmp_path, gloo_pool):
    one = evaluate(tmp_path / 'one')
    first, second = gloo_pool.run(shared, tmp_path / 'two')
    assert first == second == one


def test_table_and_picture(tmp_path):
    results = [
        Robustness('clean', 0, 0.925, 0.01, 0.3, 0., 100),
        Robustness('fgsm', 2, 0.4, 0.02, 2., 2., 100),
        Robustness('fgsm', 1, 0.6, 0.02, 1., 1., 100),
        Robustness('shot', 3, 0.8, 0.02, 0.5, 60., 100),
    ]
    rows = robustness_table(results).splitlines()[2:]
    assert rows[0] == '| clean |  | 92.50 +- 1.00 | 0.300 | 0.00 |'
    assert rows[1] == '| fgsm | 2/255 | 40.00 +- 2.00 | 2.000 | 2.00 |'
    path = tmp_path / 'plots' / 'robustness.png'
    plot_robustness({'one': results, 'other': results[:3]}, str(path))
    assert path.read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize('make, message', [
    (lambda: attack_case('cw', 1), "attack must be one of .* got 'cw'"),
    (lambda: noise_case('shot', 6), 'severity must be from 1 to 5, got 6'),
    (lambda: plot_robustness({}, 'x.png'), 'at least one panel'),
])
def test_impossible_cases(make, message):
    with pytest.raises(ValueError, match=message):
        make()
