# Copyright (c) mmstepnet contributors. All rights reserved.
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from mmstepnet.engine import MatchingKeysHook, matching_keys

runner = SimpleNamespace(
    model=nn.Sequential(nn.Linear(2, 3)), _load_from='a.pth', _resume=False)
weight = torch.zeros(3, 2)


@pytest.mark.parametrize('checkpoint', [
    {
        '0.weight': weight
    },
    dict(state_dict={'module.0.weight': weight}),
    dict(state_dict={
        '0.weight': weight,
        'other': weight
    }),
])
def test_some_keys_match(checkpoint):
    MatchingKeysHook().after_load_checkpoint(runner, checkpoint)


@pytest.mark.parametrize('value, got', [(weight.T, r'\(2, 3\)'),
                                        (None, 'None')])
def test_no_shape_matches(value, got):
    message = rf'first is 0.weight, expected \(3, 2\), got {got}'
    with pytest.raises(ValueError, match=message):
        MatchingKeysHook().after_load_checkpoint(
            runner, dict(state_dict={'0.weight': value}))


@pytest.mark.parametrize('state_dict', [
    {
        'backbone.0.weight': weight
    },
    {},
])
def test_no_key_matches(state_dict):
    with pytest.raises(ValueError, match="keys like '0.weight', got keys"):
        MatchingKeysHook().after_load_checkpoint(runner,
                                                 dict(state_dict=state_dict))


class Detector(nn.Module):

    def __init__(self, depth=1, step=True, classes=3):
        super().__init__()
        self.backbone = nn.ModuleDict(
            {f'conv{i}': nn.Linear(2, 2)
             for i in range(depth)})
        if step:
            self.backbone['step'] = nn.ModuleDict(dict(gate=nn.Linear(2, 2)))
        self.head = nn.Linear(2, classes)


def load(saved, complete, resume=False, **others):
    runner = SimpleNamespace(
        model=Detector(), _load_from='a.pth', _resume=resume)
    checkpoint = dict(state_dict=saved.state_dict(), **others)
    MatchingKeysHook(complete).after_load_checkpoint(runner, checkpoint)
    return checkpoint


@pytest.mark.parametrize('complete, saved', [
    (True, Detector()),
    (False, Detector(classes=5)),
    (False, Detector(step=False)),
])
def test_what_is_the_models(complete, saved):
    load(saved, complete)


@pytest.mark.parametrize('complete, saved, message', [
    (True, Detector(classes=5), '2 of 6 .* head.weight, .* got \\(5, 2\\)'),
    (True, Detector(step=False), 'backbone.step.gate.* got none'),
    (True, Detector(depth=2), 'no place .* backbone.conv1.* expected none'),
    (False, Detector(depth=2), 'no place .* backbone.conv1.* expected none'),
])
def test_what_is_of_another_architecture(complete, saved, message):
    with pytest.raises(ValueError, match=f"'a.pth' .*{message}"):
        load(saved, complete)


def test_weights_alone_cannot_be_resumed_from():
    with pytest.raises(ValueError, match='got no meta; .* load_from=PATH'):
        load(Detector(), True, resume=True)
    state = dict(meta=dict(config='1 / 0', epoch=1), message_hub={})
    with pytest.raises(ValueError, match='got no optimizer'):
        load(Detector(), True, resume=True, **state)
    checkpoint = load(Detector(), True, resume=True, optimizer={}, **state)
    assert checkpoint['meta'] == dict(epoch=1)


@pytest.mark.parametrize('now, said', [
    (('cat', 'dog'), []),
    (('cat', 'cow'), [
        "class 1 is 'dog' in the checkpoint, but 'cow' in the dataset for test"
    ]),
])
def test_classes_of_other_names(monkeypatch, now, said):
    messages = []
    monkeypatch.setattr(matching_keys, 'print_log',
                        lambda message, *args: messages.append(message))
    dataset = SimpleNamespace(metainfo=dict(classes=now))
    loop = SimpleNamespace(dataloader=SimpleNamespace(dataset=dataset))
    MatchingKeysHook(complete=True).after_load_checkpoint(
        SimpleNamespace(
            model=Detector(),
            _load_from='a.pth',
            _resume=False,
            _train_loop=dict(type='EpochBasedTrainLoop'),
            _test_loop=loop),
        dict(
            state_dict=Detector().state_dict(),
            meta=dict(dataset_meta=dict(classes=['cat', 'dog']))))
    assert messages == said
