# Copyright (c) mmstepnet contributors. All rights reserved.
import copy

import pytest
import torch
from torch import nn

from mmstepnet.backbones import ResNet
from mmstepnet.stiffness import StiffnessRecorder, nsi
from mmstepnet.stiffness.recorder import measure


@pytest.fixture(scope='module')
def backbone():
    torch.manual_seed(0)
    return ResNet(
        depth=34, base_channels=8, step=dict(type='mmstepnet.StepNet')).eval()


def hooks_of(model):
    return sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks)
        for m in model.modules())


def test_stages(backbone):
    stages = StiffnessRecorder(backbone).stages
    assert [len(blocks) for blocks in stages.values()] == [2, 3, 5, 2]
    assert stages['layer1'] == ['layer1.1', 'layer1.2']
    inside = nn.ModuleDict(dict(module=nn.ModuleDict(dict(backbone=backbone))))
    assert StiffnessRecorder(inside).stages == stages
    assert StiffnessRecorder(nn.Linear(1, 1)).stages == {}


def test_values_from_the_blocks_inputs(backbone):
    image = torch.rand(2, 3, 32, 32)
    block = backbone.layer2[2]
    seen = []
    handle = block.step.register_forward_hook(lambda m, args, out: seen.append(
        (*args, out.clone())))
    with StiffnessRecorder(backbone) as recorder, torch.no_grad():
        backbone(image)
        values = recorder.pop()
    handle.remove()
    assert values.shape == (2, 12, 3)
    (residual, identity, output), = seen
    column = values[:, 3]
    assert column[:, 0].tolist() == pytest.approx(
        nsi(identity, residual).tolist())
    assert column[:, 1].tolist() == pytest.approx(
        nsi(identity, output - identity).tolist(), rel=1e-5)
    assert column[:, 2].tolist() == pytest.approx(
        block.step.step_size(residual, identity).mean((1, 2, 3)).tolist())


def test_leaves_the_model_as_it_was(backbone):
    attributes = set(vars(backbone.layer1[1].step))
    before = hooks_of(backbone)
    with pytest.raises(RuntimeError), StiffnessRecorder(backbone):
        assert hooks_of(backbone) == before + 12
        backbone(torch.rand(1, 2, 32, 32))
    assert hooks_of(backbone) == before
    assert set(vars(backbone.layer1[1].step)) == attributes


def test_training_mode_updates_statistics_once(backbone):
    image = torch.rand(4, 3, 32, 32)
    plain, watched = (copy.deepcopy(backbone).train() for _ in range(2))
    plain(image)
    with StiffnessRecorder(watched) as recorder:
        watched(image)
        assert recorder.pop().shape == (4, 12, 3)
    for name, value in plain.state_dict().items():
        assert torch.equal(value, watched.state_dict()[name]), name


def test_activation_checkpointing(backbone):
    torch.manual_seed(0)
    model = ResNet(depth=34, base_channels=8, with_cp=True)
    image = torch.rand(2, 3, 32, 32)
    results = []
    with StiffnessRecorder(model) as recorder:
        for _ in range(2):
            sum(o.sum() for o in model(image)).backward()
            results.append(recorder.pop())
    assert results[0].shape == (2, 12, 3)
    assert results[0].isfinite().all()


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_low_precision(backbone, dtype):
    image = torch.rand(2, 3, 32, 32)
    with StiffnessRecorder(backbone) as recorder, torch.no_grad():
        backbone(image)
        exact = recorder.pop()
        with torch.autocast('cpu', dtype):
            backbone(image)
        half = recorder.pop()
    assert half.dtype == torch.float64
    torch.testing.assert_close(half, exact, rtol=0.05, atol=0)


@pytest.mark.parametrize('shape', [(), (4, 1, 1), (3, 4, 1, 1), (1, 4, 1, 1),
                                   (3, 1, 5, 5), (5, 5), (3, 4, 5, 5)])
def test_step_size_of_any_shape(shape):
    torch.manual_seed(0)
    state, derivative = torch.rand(2, 3, 4, 5, 5)
    size = torch.rand(shape)
    own, unit, mean = measure(state, derivative, size).unbind(1)
    assert own.tolist() == pytest.approx(nsi(state, derivative).tolist())
    assert unit.tolist() == pytest.approx(
        nsi(state, derivative * size).tolist())
    expected = size.expand(3, 4, 5, 5).mean((1, 2, 3))
    assert mean.tolist() == pytest.approx(expected.tolist())


def test_a_block_that_did_not_run(backbone):
    with StiffnessRecorder(backbone) as recorder:
        with pytest.raises(ValueError, match='layer1.1'):
            recorder.pop()


def test_state_of_norm_zero(backbone):
    values = measure(
        torch.zeros(1, 2, 3, 3), torch.ones(1, 2, 3, 3), torch.tensor(1.))
    assert not values[:, :2].isfinite().any()
