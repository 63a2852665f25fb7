# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest

from mmstepnet.backbones import ResNet
from mmstepnet.backbones.placement import place_steps

SE, STEP = dict(type='mmstepnet.SE'), dict(type='mmstepnet.StepNet')


def place(step, **kwargs):
    """In stages of 2 and 3 blocks, of which the second changes the shape."""
    return place_steps(step, (2, 3), (False, True), **kwargs)


@pytest.mark.parametrize('step', [SE, 'SE', None])
def test_one_step_for_all(step):
    assert place(step) == [[step] * 2, [step] * 3]


def test_one_step_a_stage():
    assert place([SE, None]) == [[SE] * 2, [None] * 3]


def test_stepnet_needs_a_state_of_the_same_shape():
    assert place(STEP) == [[STEP] * 2, [None, STEP, STEP]]
    assert place(STEP, step_at_shape_change=True) == [[STEP] * 2, [STEP] * 3]
    assert place(SE, step_at_shape_change=False) == [[SE] * 2, [None, SE, SE]]


def test_chosen_blocks():
    assert place(STEP, step_blocks=(None, (2, ))) == \
        [[STEP] * 2, [None, None, STEP]]
    assert place(SE, step_blocks=((), (0, 2))) == \
        [[None] * 2, [SE, None, SE]]
    assert place(
        STEP, step_blocks=((1, ), (0, )), step_at_shape_change=True) == \
        [[None, STEP], [STEP, None, None]]


@pytest.mark.parametrize(
    'step, kwargs, message',
    [(SE, dict(step_blocks=((0, ), )),
      'step_blocks must have one entry for each of the 2 stages, got 1'),
     ([SE] * 3, {}, 'step must have one entry for each .* got 3'),
     (SE, dict(step_blocks=(None, (1, 3))),
      r'step_blocks of stage 2 must be from 0 to 2, got \[3\]'),
     (SE, dict(step_blocks=((-1, ), None)), r'from 0 to 1, got \[-1\]'),
     (STEP, dict(step_blocks=(None, (0, ))),
      'block 0 of stage 2 changes the shape and takes no StepNet by default')])
def test_impossible_places(step, kwargs, message):
    with pytest.raises(ValueError, match=message):
        place(step, **kwargs)


def test_step_blocks_that_is_no_list():
    with pytest.raises(ValueError, match='step_blocks must be a list.*got 3'):
        place_steps('SE', (2, 2), (False, True), 3)
    with pytest.raises(
            TypeError,
            match=r"a list of \(lists of integers or None\) or None, got 'a'"):
        ResNet(18, step_blocks='a')
