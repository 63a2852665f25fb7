# Copyright (c) mmstepnet contributors. All rights reserved.
import csv
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.mmpretrain

CONFIGS = Path(__file__).parents[2] / 'configs'
#: Parameters added to ResNet-164.
ADDED = {
    'plain': 0,
    'CBAM(min_width=8)': 216_792,
    'IEBN': 24_224,
    'StepNet': 45_696
}


def test_table_of_backbones_and_steps(run_tool, capsys):
    result = run_tool('model_zoo', '--backbones', 'CIFARResNet(depth=164)',
                      '--steps', *ADDED, '--shape', '32', '32', '--repeats',
                      '0', '--format', 'json')
    assert result.code == 0, result.code
    content = json.loads(capsys.readouterr().out)
    assert content['shape'] == [3, 32, 32]
    rows = {
        row['network'].partition(' ')[2]: row
        for row in content['networks']
    }
    plain = rows['plain']
    assert plain['parameters'] == 1_704_154 - 2_570
    for step, added in ADDED.items():
        row = rows[step]
        assert row['parameters'] == row['backbone_parameters'] == \
            plain['parameters'] + added
        assert row['multiply_adds'] >= plain['multiply_adds']
        assert row['checkpoint_bytes'] >= \
            plain['checkpoint_bytes'] + 4 * added
        assert row['latency_seconds'] is None


def test_table_of_configs(run_tool, workspace):
    result = run_tool(
        'model_zoo', CONFIGS / 'imagenet/resnet34_stepnet_8xb32_in1k.py',
        CONFIGS / 'cifar10_mini/resnet20-basic_iebn_1xb64_cifar10-mini.py',
        '--shape', '32', '64', '--repeats', '1', '--format', 'csv', '--out',
        'zoo.csv')
    assert result.code == 0, result.code
    with open(workspace / 'zoo.csv', newline='') as file:
        first, second = csv.DictReader(file)
    assert first['network'] == 'resnet34_stepnet_8xb32_in1k'
    assert int(first['parameters']) == 21_797_672 + 17_280
    assert int(first['parameters']) - int(first['backbone_parameters']) == \
        513_000
    assert float(second['latency_seconds']) > 0


def test_markdown(run_tool, capsys):
    result = run_tool('model_zoo', '--backbones',
                      'VisionTransformer(num_layers=1)', '--repeats', '0',
                      '--shape', '32', '32')
    assert result.code == 0, result.code
    header, line, row = capsys.readouterr().out.splitlines()
    assert '32x32' in header and set(line) == {'|', '-'}
    assert row.split('|')[1:4] == [
        ' VisionTransformer(num_layers=1) plain ', ' 0.5565 ', ' 0.5565 '
    ]


@pytest.mark.parametrize('args, message', [
    ((), 'expected configs or --backbones, got neither'),
    (('--backbones', 'ResNet(50)'),
     "expected NAME or NAME(OPTION=VALUE, ...), got 'ResNet(50)'"),
    (('--backbones', 'ResNet(depth=51)'), 'depth must be one of'),
    (('--backbones', 'ResNet(depth=18)', '--steps', 'SEE'), "got 'mmstepnet"),
    (('nowhere.py', ), 'nowhere.py'),
])
def test_wrong_use_gets_a_sentence(run_tool, capsys, args, message):
    result = run_tool('model_zoo', *args)
    assert result.code
    assert message in f'{result.code} {capsys.readouterr().err}'
