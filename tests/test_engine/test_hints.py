# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.model import BaseModule

from mmstepnet.engine.hints import explain_build
from mmstepnet.steps import SE, Step


class Flat(Step):

    def step_size(self, residual, identity):
        return residual.mean((2, 3))


def test_a_step_size_that_does_not_broadcast():
    x = torch.rand(2, 8, 4, 4)
    with pytest.raises(RuntimeError) as error:
        Flat(8)(x, x)
    assert explain_build(error.value) == (
        'the step_size of Flat must have a shape that broadcasts to the '
        "residual's, (2, 8, 4, 4), got (2, 8)")


def test_other_errors_of_a_step_are_left_alone():
    with pytest.raises(RuntimeError) as error:
        SE(16)(torch.rand(2, 16, 4, 4), torch.rand(2, 16, 3, 3))
    assert explain_build(error.value) is None


def test_a_prefix_of_no_weight(tmp_path):
    path = str(tmp_path / 'a.pth')
    torch.save(dict(state_dict={'backbone.a': torch.zeros(1)}), path)
    model = BaseModule(
        dict(type='Pretrained', checkpoint=path, prefix='neck.'))
    with pytest.raises(AssertionError) as error:
        model.init_weights()
    assert explain_build(error.value) == (
        f"init_cfg.prefix must begin names in {path!r} such as 'backbone.a', "
        "got 'neck.'")
