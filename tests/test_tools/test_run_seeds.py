# Copyright (c) mmstepnet contributors. All rights reserved.
import json

import pytest

pytestmark = pytest.mark.mmpretrain


@pytest.fixture
def finished(workspace):
    """A work dir with the results of two configs, and their names."""
    root = workspace / 'finished'
    root.mkdir(exist_ok=True)
    results = {
        'tiny_classifier': {
            '0': {
                'accuracy/top1': 50.,
                'tns/total': 1.
            },
            '1': {
                'accuracy/top1': 60.,
                'tns/total': 1.5
            }
        },
        'tiny_detector': {
            '0': {
                'accuracy/top1': 90.125,
                'tns/total': 0.
            }
        }
    }
    (root / 'results.json').write_text(json.dumps(results))
    return root


@pytest.mark.slow
def test_trains_what_is_not_finished(run_tool, finished, capsys):
    command = ('run_seeds', 'tiny_classifier.py', '--seeds', 0, 5,
               '--work-dir', finished, '--train-args', '--cfg-options',
               'train_cfg.max_epochs=1')
    result = run_tool(*command)
    assert result.code == 0, result.code
    out = capsys.readouterr().out
    assert out.startswith('tiny_classifier, seed 5\n| config')
    runs = json.loads((finished / 'results.json').read_text())
    assert list(runs['tiny_classifier']) == ['0', '1', '5']
    assert runs['tiny_classifier']['0']['accuracy/top1'] == 50
    assert 0 <= runs['tiny_classifier']['5']['accuracy/top1'] <= 100
    assert 'seed: 5' in (finished / 'tiny_classifier/5/output.log').read_text()

    assert run_tool(*command).code == 0
    again = capsys.readouterr().out
    assert again.startswith('| config') and out.endswith(again)
    assert (finished / 'results.md').read_text() == again


def test_mean_and_deviation(run_tool, finished, capsys):
    result = run_tool('run_seeds', 'tiny_classifier.py', '--seeds', 0, 1,
                      '--metrics', 'accuracy/top1', 'tns/total', '--work-dir',
                      finished)
    assert result.code == 0, result.code
    # deviations of 10 / sqrt(2) and 0.5 / sqrt(2)
    assert capsys.readouterr().out == (
        '| config | seeds | accuracy/top1 | tns/total |\n'
        '|---|---|---|---|\n'
        '| tiny_classifier | 2 | 55 ± 7.1 | 1.25 ± 0.35 |\n')


def test_one_seed_has_no_deviation(run_tool, finished, capsys):
    result = run_tool('run_seeds', 'tiny_classifier.py', 'tiny_detector.py',
                      '--seeds', 0, '--work-dir', finished)
    assert result.code == 0, result.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        '| tiny_classifier | 1 | 50 |', '| tiny_detector | 1 | 90.12 |'
    ]


@pytest.mark.parametrize(
    'args, message',
    [(('nowhere.py', ), "there is no config file 'nowhere.py'"),
     (('tiny_classifier.py', '--metrics', 'top1'),
      "--metrics must be values of the last validation, ['accuracy/top1', "
      "'tns/total'], got 'top1'"),
     (('tiny_detector.py', '--seeds', '7', '--train-args', '--cfg-options',
       'train_dataloader.dataset.ann_file=gone.json'),
      "training of 'tiny_detector.py' with seed 7 ended with status 1; its "
      'output is')])
def test_wrong_use_gets_a_sentence(run_tool, finished, args, message):
    seeds = () if '--seeds' in args else ('--seeds', '0')
    result = run_tool('run_seeds', args[0], '--work-dir', finished, *seeds,
                      *args[1:])
    assert message in str(result.code)
