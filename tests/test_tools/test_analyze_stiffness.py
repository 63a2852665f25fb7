# Copyright (c) mmstepnet contributors. All rights reserved.
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(run_tool, tmp_path):

    def run(*args):
        out = tmp_path / 'out'
        code = run_tool('analyze_stiffness', *args, '--out-dir', out).code
        if code:
            raise SystemExit(code)
        return json.loads((out / 'stiffness.json').read_text())

    return run


@pytest.fixture
def images(tmp_path):
    for i in range(3):
        array = np.random.RandomState(i).randint(0, 255, (64, 64, 3))
        Image.fromarray(array.astype('uint8')).save(tmp_path / f'{i}.png')
    return tmp_path


def test_torchvision_and_a_checkpoint_of_another_architecture(
        run, images, tmp_path, capsys):
    right, wrong = tmp_path / 'right.pth', tmp_path / 'wrong.pth'
    model = torchvision.models.resnet34()
    torch.save(dict(state_dict=model.state_dict()), right)
    torch.save(torchvision.models.resnet18().state_dict(), wrong)
    numbers = run('torchvision:resnet34', right, wrong, '--images', images)
    network, = numbers['networks']
    assert network['name'] == 'torchvision:resnet34 right'
    assert network['total']['num_samples'] == 3
    why = numbers['failed']['torchvision:resnet34 wrong']
    assert 'of another architecture' in why and 'layer1.2' in why
    assert 'is left out' in capsys.readouterr().err


def test_a_list_of_blocks(run, images):
    numbers = run('torchvision:resnet18', 'random', '--images', images,
                  '--blocks', 'layer1.1', 'layer1.0', 'layer1.1')
    assert list(numbers['networks'][0]['blocks']) == ['layer1.0', 'layer1.1']


@pytest.mark.parametrize('args, sentence', [
    (['torchvision:resnet34'], '--images FOLDER'),
    (['torchvision:alexnet', 'random', '--images', '.'], 'No residual block'),
    (['nowhere.py', 'a.pth'], "no config file 'nowhere.py'"),
    (['nowhere.py'], 'nowhere.py needs a checkpoint'),
    (['a.py', 'a.pth', '--device', 'gpu'], "--device must be .*, got 'gpu'"),
    ([
        'torchvision:resnet18', 'random', '--images', '.', '--blocks',
        'layer1.1'
    ], 'expected a second one of some stage, got only layer1.1'),
    (['a.py', 'a.pth', '--names', 'b', 'c'], '--names needs 1 names, got 2'),
])
def test_wrong_use(run, images, capsys, args, sentence):
    args = [images if arg == '.' else arg for arg in args]
    with pytest.raises(SystemExit, match=sentence) as exit:
        run(*args)
    assert '{' not in exit.value.code
    assert 'is left out' not in capsys.readouterr().err  # said once


@pytest.mark.slow
@pytest.mark.mmpretrain
def test_real_network(run, test_data):
    pytest.importorskip('mmpretrain')
    numbers = run(
        ROOT / 'configs/cifar10_mini/'
        'resnet20-basic_plain_1xb64_cifar10-mini.py',
        test_data / 'weights/resnet20-12fca82f.th', '--num-images', 200,
        '--cfg-options', 'test_dataloader.dataset.data_root='
        f'{test_data}/cifar10_mini/')
    network, = numbers['networks']
    assert network['total']['num_samples'] == 200
    assert network['metrics']['accuracy/top1'] > 85
    assert network['total']['mean'] == pytest.approx(0.525, abs=0.06)
