# Copyright (c) mmstepnet contributors. All rights reserved.
import torch
from mmengine.optim import build_optim_wrapper
from torch import nn


def test_a_step_in_bfloat16():
    model = nn.Linear(4, 1)
    before = model.weight.detach().clone()
    wrapper = build_optim_wrapper(
        model,
        dict(
            type='mmstepnet.CPUAmpOptimWrapper',
            optimizer=dict(type='SGD', lr=0.1),
            clip_grad=dict(max_norm=1.)))
    with wrapper.optim_context(model):
        output = model(torch.ones(2, 4))
    assert output.dtype == torch.bfloat16
    wrapper.update_params(output.float().sum())
    assert model.weight.dtype == torch.float32
    assert not torch.equal(model.weight, before)


def test_gradients_are_accumulated():
    model = nn.Linear(4, 1)
    before = model.weight.detach().clone()
    wrapper = build_optim_wrapper(
        model,
        dict(
            type='mmstepnet.CPUAmpOptimWrapper',
            accumulative_counts=2,
            optimizer=dict(type='SGD', lr=0.1)))
    wrapper.initialize_count_status(model, 0, 2)
    for changed in (False, True):
        with wrapper.optim_context(model):
            output = model(torch.ones(2, 4))
        wrapper.update_params(output.float().sum())
        assert torch.equal(model.weight, before) is not changed
