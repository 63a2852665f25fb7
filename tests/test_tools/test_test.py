# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import pickle

import pytest
import torch

pytestmark = [pytest.mark.mmdet, pytest.mark.mmpretrain]


@pytest.mark.parametrize('extra', [[], ['--tta']])
def test_predictions_of_a_detector(workspace, run_tool, trained_detector,
                                   extra):
    out = workspace / 'boxes.pkl'
    work_dir = workspace / f'tested {len(extra)}'
    result = run_tool('test', 'tiny_detector.py',
                      trained_detector / 'epoch_1.pth', '--work-dir', work_dir,
                      '--out', out, '--show-dir', 'painted', *extra)
    assert result.code == 0
    predictions = pickle.loads(out.read_bytes())
    assert len(predictions) == 5
    assert all('bboxes' in p['pred_instances'] for p in predictions)
    assert len(list(work_dir.glob('*/painted/*.png'))) == 5


@pytest.mark.parametrize('extra', [[], ['--tta']])
def test_metrics_of_a_classifier(workspace, run_tool, trained_classifier,
                                 extra):
    out = workspace / 'metrics.json'
    result = run_tool('test', 'tiny_classifier.py',
                      trained_classifier / 'epoch_1.pth', '--work-dir',
                      workspace / 'tested', '--out', out, '--out-item',
                      'metrics', *extra)
    assert result.code == 0
    assert 0 <= json.loads(out.read_text())['accuracy/top1'] <= 100


@pytest.mark.parametrize('library', ['detector', 'classifier'])
def test_tns(workspace, run_tool, request, library):
    trained = request.getfixturevalue(f'trained_{library}')
    work_dir, out = workspace / f'stiff {library}', workspace / 'tns.json'
    result = run_tool('test', f'tiny_{library}.py', trained / 'epoch_1.pth',
                      '--work-dir', work_dir, '--tns', '--out', out,
                      '--out-item', 'metrics')
    assert result.code == 0
    lines = (work_dir / 'tns.jsonl').read_text().splitlines()
    record = json.loads(lines[-1])
    assert record['mode'] == 'test' and record['total']['num_samples'] == 5
    metrics = json.loads(out.read_text())
    assert metrics['tns/total'] == record['total']['mean']
    assert metrics['nsi/layer1.1'] > 0


def test_predictions_of_a_classifier(workspace, run_tool, trained_classifier):
    out = workspace / 'classes.pkl'
    result = run_tool('test', 'tiny_classifier.py',
                      trained_classifier / 'epoch_1.pth', '--work-dir',
                      workspace / 'tested', '--out', out, '--show-dir',
                      workspace / 'painted classes', '--interval', 2)
    assert result.code == 0
    predictions = pickle.loads(out.read_bytes())
    assert [len(p['pred_score']) for p in predictions] == [2] * 5
    assert len(list((workspace / 'painted classes').glob('*'))) == 3


@pytest.mark.parametrize('checkpoint, args, sentence', [
    ('none.pth', [], 'argument "checkpoint" .*none.pth'),
    (None, ['--out', 'boxes.json'], "one of .*pkl.*, got 'boxes.json'"),
    (None, ['--out', 'a.txt', '--out-item', 'metrics'], "json.*'a.txt'"),
    pytest.param(
        None, ['--amp'],
        '--amp needs a GPU',
        marks=pytest.mark.skipif(
            torch.cuda.is_available(), reason='about machines without one')),
    (None, [
        '--show-dir', 'x', '--cfg-options', 'default_hooks.visualization=None'
    ], 'need default_hooks'),
    (None, ['--cfg-options', 'test_evaluator.ann_file=none.json'
            ], 'test_evaluator.ann_file of the config'),
])
def test_wrong_use(run_tool, trained_detector, checkpoint, args, sentence):
    code = run_tool('test', 'tiny_detector.py', checkpoint
                    or trained_detector / 'epoch_1.pth', *args).code
    with pytest.raises(SystemExit, match=f'^error: .*{sentence}'):
        raise SystemExit(code)
