# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from mmengine.registry import DefaultScope

from mmstepnet.steps import SE, StepNet, Unit, build_step, step_class


@pytest.mark.parametrize('cfg', [
    'SE', 'mmstepnet.SE', SE,
    dict(type='SE'),
    dict(type='mmstepnet.SE'),
    dict(type=SE),
    dict(type='mmstepnet.SE', _scope_='mmdet')
])
@pytest.mark.parametrize('scope', ['mmstepnet', 'mmdet', 'mmpretrain'])
def test_the_name_means_the_same_in_every_scope(cfg, scope):
    with DefaultScope.overwrite_default_scope(scope):
        assert type(build_step(cfg, 16)) is SE
        assert step_class(cfg) is SE


def test_none_is_the_plain_step():
    assert type(build_step(None, 16)) is Unit
    assert not build_step(None, 16).state_dict()


def test_options_reach_the_step():
    cfg = dict(type='StepNet', inputs='next')
    assert build_step(cfg, 16).inputs == 'next'
    assert cfg == dict(type='StepNet', inputs='next')
    assert isinstance(build_step(cfg, 16), StepNet)


@pytest.mark.parametrize('cfg, error, message', [
    ('Se', ValueError, r"step type must be one of \[.*'SE'.*\] .* got 'Se'"),
    (dict(type='ResNet'), ValueError, "one of .* got 'ResNet'"),
    (int, ValueError, 'one of .* got .*int'),
    (dict(ratio=4), TypeError, r"key \"type\" or None, got {'ratio': 4}"),
    (3, TypeError, 'must be a name, a config .* got 3'),
    (dict(type='SE', radio=4), TypeError,
     r"SE has no argument 'radio' \(did you mean 'ratio'\?\): expected "
     'some of in_channels, ratio, bias'),
    (dict(type='SE', ratio=32), ValueError,
     'ratio must be an integer from 1 to in_channels=16, got 32'),
    (dict(type='SE', ratio=0), ValueError, 'ratio must .* got 0'),
    (dict(type='SE', ratio=2.5), TypeError, 'ratio .* integer, got 2.5'),
    (dict(type='ECA', kernel_size=4), ValueError,
     'kernel_size must be a positive odd integer, got 4'),
    (dict(type='ECA', kernel_size=-3), ValueError, 'got -3'),
    (dict(type='SGE',
          groups=64), ValueError, 'groups must divide in_channels=16, got 64'),
    (dict(type='SGE', groups=0), ValueError, 'groups must .* got 0'),
    (dict(type='StepNet', inputs='x_t'), ValueError,
     r"inputs must be one of \('both', .*\), got 'x_t'"),
])
def test_wrong_settings_get_a_sentence(cfg, error, message):
    with pytest.raises(error, match=message) as info:
        build_step(cfg, 16)
    assert '\n' not in str(info.value)


@pytest.mark.parametrize('gate', ['ASR', 'SGE', 'Unit', 'InResNet'])
def test_asr_refuses_a_gate_that_sees_nothing_of_a_vector(gate):
    with pytest.raises(ValueError, match='depends on the vector'):
        build_step(dict(type='ASR', gate=gate), 64)
