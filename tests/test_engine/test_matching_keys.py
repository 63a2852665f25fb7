# Copyright (c) mmstepnet contributors. All rights reserved.
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from mmstepnet.engine import MatchingKeysHook

runner = SimpleNamespace(model=nn.Sequential(nn.Linear(2, 3)))
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


@pytest.mark.parametrize('state_dict', [
    {
        'backbone.0.weight': weight
    },
    {
        '0.weight': weight.T
    },
    {
        '0.weight': None
    },
    {},
])
def test_no_key_matches(state_dict):
    with pytest.raises(ValueError, match="keys like '0.weight', got keys"):
        MatchingKeysHook().after_load_checkpoint(runner,
                                                 dict(state_dict=state_dict))
