# Copyright (c) mmstepnet contributors. All rights reserved.
"""The fast part of ``python -m campaigns.inputs``."""
import importlib

import pytest

pytest.importorskip('mmdet')
pytest.importorskip('mmpretrain')
harness, fuzz, workspace = (
    importlib.import_module(f'campaigns.inputs.{name}')
    for name in ('harness', 'fuzz', 'workspace'))
pytestmark = [pytest.mark.mmdet, pytest.mark.mmpretrain]

# One in so many of the cases of an area that need no training.
SHARES = dict(configs=9, coco=2, checkpoints=4, images=6, tools=7)


def chosen():
    for area, share in SHARES.items():
        module = importlib.import_module(f'campaigns.inputs.{area}')
        yield from [case for case in module.cases() if case.fast][::share]


@pytest.fixture(scope='module')
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp('inputs')
    workspace.write_workspace(path)
    workspace.write_checkpoints(path)
    return path


@pytest.mark.parametrize('case', chosen(), ids=lambda c: f'{c.area}-{c.name}')
def test_broken_input(case, root):
    outcome, wrong = harness.run_case(case, root)
    assert not wrong, outcome.message


@pytest.mark.parametrize('area', fuzz.PROPERTIES)
def test_generated_inputs(area):
    counts = fuzz.fuzz(area, 25)
    assert counts['refused'] >= 5


SENTENCE = "error: depth must be one of [18, 34], got '50'"


@pytest.mark.parametrize('outcome, after, wrong', [
    ((1, SENTENCE), {}, None),
    ((0, SENTENCE), {}, 'exit status 0'),
    ((None, 'Traceback (most recent call last): ...'), {}, 'traceback'),
    ((1, f'Traceback ...\n{SENTENCE}'), {}, 'traceback'),
    ((1, f'{SENTENCE}\nand more'), {}, 'not one line'),
    ((1, ''), {}, 'not one line'),
    ((1, 'error: wrong depth'), {}, "does not say '50'"),
    ((1, SENTENCE * 50), {}, 'letters long'),
    ((1, SENTENCE), {
        'out.pth': (3, 3)
    }, "left behind ['out.pth']"),
    ((1, SENTENCE), {
        'a.json': (0, 0)
    }, "changed or lost ['a.json']"),
    ((1, SENTENCE), {
        'code_has_run': (0, 0)
    }, 'ran code'),
])
def test_the_rules(outcome, after, wrong):
    case = harness.Case('configs', 'depth', None, ('50', ))
    before = {'a.json': (1, 1)}
    found = harness.judge(case, harness.Outcome(*outcome), before, {
        **before,
        **after
    })
    assert (wrong in ' '.join(found)) if wrong else not found
