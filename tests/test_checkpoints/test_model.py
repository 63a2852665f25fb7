# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.config import Config

from mmstepnet.checkpoints import load_model
from mmstepnet.registry import MODELS

CONFIG = Config(
    dict(
        model=dict(
            type='mmstepnet.CIFARResNet',
            depth=8,
            block='basic',
            base_channels=4,
            step=dict(type='mmstepnet.StepNet'))))


@pytest.fixture
def weights():
    weights = MODELS.build(CONFIG.model).state_dict()
    for name, value in weights.items():
        if name.endswith('num_batches_tracked'):
            value.fill_(7)
    return weights


def saved(weights, folder):
    path = str(folder / 'a.pth')
    torch.save(dict(state_dict=weights), path)
    return path


@pytest.mark.parametrize('prefix', ['', 'module.'])
def test_all_weights_are_loaded(prefix, weights, tmp_path):
    path = saved({prefix + k: v for k, v in weights.items()}, tmp_path)
    loaded = load_model(CONFIG, path).state_dict()
    assert loaded.keys() == weights.keys()
    assert all(loaded[name].equal(weights[name]) for name in weights)


def test_a_file_without_counters(weights, tmp_path):
    counters = [n for n in weights if n.endswith('num_batches_tracked')]
    assert counters
    for name in counters:
        del weights[name]
    loaded = load_model(CONFIG, saved(weights, tmp_path)).state_dict()
    assert all(loaded[name].equal(weights[name]) for name in weights)
    assert all(loaded[name] == 0 for name in counters)


@pytest.mark.parametrize('damage, message', [
    (lambda value: None, 'got None'),
    (lambda value: value[:2], r'got \(2, 4, 3, 3\)'),
])
def test_a_weight_that_does_not_fit(damage, message, weights, tmp_path):
    name = 'layer1.0.conv1.weight'
    weights[name] = damage(weights[name])
    if weights[name] is None:
        del weights[name]
    with pytest.raises(ValueError, match=message) as caught:
        load_model(CONFIG, saved(weights, tmp_path))
    assert f'expected {name} of shape (4, 4, 3, 3)' in str(caught.value)
