# Copyright (c) mmstepnet contributors. All rights reserved.
"""robustness.py, analyze.py and compare_networks.py."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.mmpretrain
REPO = Path(__file__).parents[2]
CONFIG = 'tiny_classifier.py'
FEW = ['--num-images', 4, '--batch-size', 2]
GROUPS = ('clean', 'fgsm', 'pgd', 'shot')
CASES = [
    *FEW, '--attacks', 'fgsm', 'pgd', '--radii', 1, '--steps', 2, '--noises',
    'shot', '--severities', 5
]


def result_of(work_dir, name):
    return json.loads((work_dir / f'{name}.json').read_text())


def assert_is_picture(path):
    assert path.read_bytes().startswith(b'\x89PNG')


def run(run_tool, *args):
    result = run_tool(*args)
    assert result.code == 0, result.code


@pytest.fixture(scope='module')
def evaluated(workspace, run_tool, trained_classifier):
    """Work dir with all results of the trained classifier."""
    work_dir = workspace / 'evaluated'
    checkpoint = trained_classifier / 'epoch_1.pth'
    common = ['--work-dir', work_dir, '--name', 'tiny']
    run(run_tool, 'robustness', CONFIG, checkpoint, *CASES, *common)
    for name, *options in (['stiffness'], ['hessian', '--max-steps', 5],
                           ['features'], ['landscape', '--num-points',
                                          3], ['attack', '--num-points', 3]):
        run(run_tool, 'analyze', name, CONFIG, checkpoint, *FEW, *common,
            *options)
    return work_dir


def test_results_and_pictures(evaluated):
    rows = result_of(evaluated, 'robustness')['result']
    assert [(row['group'], row['level']) for row in rows] == [('clean', 0),
                                                              ('fgsm', 1),
                                                              ('pgd', 1),
                                                              ('shot', 5)]
    assert all(row['num_images'] == 4 for row in rows)
    assert 0.99 < rows[1]['max_norm'] <= 1
    assert rows[1]['loss'] > rows[0]['loss']
    for name in ('robustness', 'fourier', 'variance', 'hessian', 'landscape',
                 'attack'):
        assert_is_picture(evaluated / f'{name}.png')
    hessian = result_of(evaluated, 'hessian')['result']
    assert len(hessian['batches']) == 2
    stiffness = result_of(evaluated, 'stiffness')
    assert stiffness['name'] == 'tiny'
    assert stiffness['result']['total']['num_samples'] == 4
    assert stiffness['result']['accuracy'] == rows[0]['accuracy']
    log = ''.join(p.read_text() for p in evaluated.glob('*/*.log'))
    assert '| fgsm | 1/255 |' in log and '2/2 pieces' in log


def test_a_second_run_takes_what_is_there(evaluated, run_tool,
                                          trained_classifier, capsys):
    before = result_of(evaluated, 'robustness')
    run(run_tool, 'robustness', CONFIG, trained_classifier / 'epoch_1.pth',
        *CASES, '--work-dir', evaluated, '--name', 'tiny', '--compare',
        evaluated)
    assert '2 of 2 pieces are done already' in capsys.readouterr().out
    assert result_of(evaluated, 'robustness') == before


def test_comparison(workspace, evaluated, run_tool):
    other = workspace / 'other'
    other.mkdir(exist_ok=True)
    for name in ('robustness', 'stiffness', 'hessian'):
        saved = result_of(evaluated, name)
        saved['name'] = 'twin'
        (other / f'{name}.json').write_text(json.dumps(saved))
    out_dir = workspace / 'comparison'
    run(run_tool, 'compare_networks', evaluated, other, '--out-dir', out_dir)
    lines = (out_dir / 'comparison.md').read_text().splitlines()
    assert lines[0] == 'The attack is PGD with radius 1/255.'
    assert lines[4].startswith('| tiny | ')
    assert lines[5] == lines[4].replace('tiny', 'twin')
    rows = result_of(evaluated, 'robustness')['result']
    assert f'| {100 * rows[2]["accuracy"]:.4g} +- ' in lines[4]
    assert lines[4].count('(n=4)') == 4 and lines[4].count('(n=2)') == 1
    assert_is_picture(out_dir / 'comparison.png')


def test_ensemble_and_trajectory(workspace, run_tool, trained_classifier):
    checkpoint = trained_classifier / 'epoch_1.pth'
    moved = workspace / 'moved.pth'
    state = torch.load(checkpoint, weights_only=False)['state_dict']
    torch.save(
        {
            k: v * 1.1 if v.is_floating_point() else v
            for k, v in state.items()
        }, moved)
    work_dir = workspace / 'several'
    run(run_tool, 'robustness', CONFIG, checkpoint, moved, *FEW, '--attacks',
        'fgsm', '--radii', 2, '--noises', '--work-dir', work_dir)
    saved = result_of(work_dir, 'robustness')
    assert len(set(saved['settings']['weights'])) == 2
    assert len(saved['result']) == 2
    run(run_tool, 'analyze', 'trajectory', CONFIG, moved, checkpoint, *FEW,
        '--work-dir', work_dir)
    assert result_of(work_dir, 'trajectory')['result'] == [[1, 0], [0, 0]]
    assert_is_picture(work_dir / 'trajectory.png')


@pytest.mark.slow
@pytest.mark.ddp
def test_two_processes(workspace, evaluated, trained_classifier):
    work_dir = workspace / 'two evaluate'
    environment = {
        key: value
        for key, value in os.environ.items() if key not in ('PORT', 'RANK')
    }
    environment.update(
        CUDA_VISIBLE_DEVICES='-1',
        PYTHONPATH=os.pathsep.join([str(REPO), *sys.path]))
    result = subprocess.run([
        sys.executable, '-m', 'mmstepnet.engine.launch', '2',
        str(REPO / 'tools' / 'robustness.py'), CONFIG,
        str(trained_classifier / 'epoch_1.pth'), '--launcher', 'pytorch',
        '--work-dir',
        str(work_dir), *map(str, CASES)
    ],
                            cwd=workspace,
                            env=environment,
                            capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stderr
    for rank in range(2):
        lines = (work_dir / 'robustness' / f'rank{rank}.jsonl').read_text()
        assert lines.count('\n') == 1
    ours = result_of(work_dir, 'robustness')['result']
    for a, b in zip(ours, result_of(evaluated, 'robustness')['result']):
        assert (a.pop('group'), b.pop('group')) in {(g, g) for g in GROUPS}
        assert a == pytest.approx(b, rel=1e-4)


@pytest.mark.parametrize('tool, args, sentence', [
    ('robustness', [CONFIG, 'none.pth'], 'argument "checkpoint" .*none.pth'),
    ('robustness', [CONFIG, 'good', '--num-images', 999
                    ], 'from 1 to the . images of the dataset, got 999'),
    ('robustness', [CONFIG, 'good', '--severities', 7
                    ], 'severity must be from 1 to 5, got 7'),
    ('robustness', [CONFIG, 'good', '--compare', 'nowhere'
                    ], 'there are no results at .nowhere'),
    ('robustness', [CONFIG, 'bad'],
     'is not one of this classifier: 1 of .* tensors are missing or of '
     "another shape, the first is 'head.fc.bias'"),
    ('analyze', ['damping', CONFIG, 'good', *FEW
                 ], 'steps of the type InResNet'),
    ('analyze', ['hessian', CONFIG, 'good', 'good'
                 ], 'any other analysis one; got 2 for hessian'),
    ('analyze', ['trajectory', CONFIG, 'good'], 'got 1 for trajectory'),
    ('compare_networks', ['nowhere'],
     'no results at .*robustness.json.: run tools/robustness.py'),
])
def test_wrong_use(workspace, run_tool, trained_classifier, tool, args,
                   sentence):
    good = trained_classifier / 'epoch_1.pth'
    bad = workspace / 'bad.pth'
    state = torch.load(good, weights_only=False)['state_dict']
    torch.save({k: v for k, v in state.items() if k != 'head.fc.bias'}, bad)
    args = [dict(good=good, bad=bad).get(arg, arg) for arg in args]
    code = run_tool(tool, *args).code
    with pytest.raises(SystemExit, match=f'^error: .*{sentence}'):
        raise SystemExit(code)


def test_results_of_other_weights_are_not_mixed(workspace, evaluated,
                                                run_tool):
    mixed = workspace / 'mixed'
    mixed.mkdir(exist_ok=True)
    for name in ('robustness', 'stiffness', 'hessian'):
        shutil.copy(evaluated / f'{name}.json', mixed)
    saved = result_of(mixed, 'hessian')
    saved['settings']['weights'] = ['other']
    (mixed / 'hessian.json').write_text(json.dumps(saved))
    code = run_tool('compare_networks', mixed).code
    assert 'are of different weights' in code
    code = run_tool('compare_networks', evaluated, '--radius', 8).code
    assert 'has no result of pgd with radius 8/255' in code
