# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import re

import numpy as np
import pytest
import torch
from PIL import Image

from mmstepnet.backbones import CIFARResNet
from mmstepnet.stiffness import StiffnessAccumulator, tns
from mmstepnet.stiffness.analysis import NetworkStiffness, save_analysis
from mmstepnet.stiffness.block_plots import draw_trajectories
from mmstepnet.stiffness.sources import (ImageFolder, library_model,
                                         measure_network)

STAGES = dict(layer1=['layer1.1', 'layer1.2', 'layer1.3'], layer2=['layer2.1'])


def network(name, seed, stages=STAGES, **metrics):
    generator = torch.Generator().manual_seed(seed)
    accumulator = StiffnessAccumulator(stages)
    values = torch.rand(
        40, len(accumulator.blocks), 3, generator=generator) + 0.2
    values[..., 2] = values[..., 0] / 2
    accumulator.update(range(40), values)
    return NetworkStiffness(name, 'made up', accumulator, metrics)


def test_everything_is_written(tmp_path):
    networks = [
        network(name, seed, acc=acc)
        for seed, (name, acc) in enumerate([('<a>', 1.), ('b', 2.), ('c', 3.)])
    ]
    path = save_analysis(
        networks, str(tmp_path), single=[0, 39], failed=dict(d='it is odd'))
    numbers = json.load(open(tmp_path / 'stiffness.json'))
    first = numbers['networks'][0]
    values = networks[0].nsi()
    assert first['total']['mean'] == pytest.approx(
        tns(values, [3, 1]).mean().item())
    assert first['confidence']['low'] < first['total']['mean'] < \
        first['confidence']['high']
    assert first['step_correlations']['layer1.1']['spearman'] == 1
    assert abs(numbers['correlation']['kendall']) <= 1
    with np.load(tmp_path / 'stiffness.npz') as arrays:
        assert arrays['1/values'].shape == (40, 4, 3)
        cell = arrays['m1'][1] * arrays['m2'][1]
        assert arrays['0/delta'].sum() * cell == pytest.approx(
            first['total']['mean'], rel=0.2)
    names = ('trajectory', 'surface', 'proportion', 'step_size', 'accuracy')
    for name in names:
        with Image.open(tmp_path / f'{name}.png') as picture:
            assert picture.width > 500
        assert (tmp_path / f'{name}.svg').read_text().startswith('<?xml')
    html = open(path).read()
    assert html.count('data:image/png;base64,') == 5
    assert '&lt;a&gt;' in html and '<a>' not in html
    assert 'd was not measured: it is odd' in html
    assert '0 by definition' in html
    assert not re.findall(r'(?:src|href)="(?!data:)', html)


def test_one_network_without_metrics(tmp_path):
    save_analysis([network('a', 0)], str(tmp_path), dt='unit')
    assert not (tmp_path / 'accuracy.png').exists()
    assert json.load(open(tmp_path / 'stiffness.json'))['metric'] is None


def test_networks_that_are_never_stiff(tmp_path):
    flat = network('flat', 0, dict(layer1=['layer1.1'], layer2=['layer2.1']))
    still = NetworkStiffness('still', '', StiffnessAccumulator(STAGES))
    still.accumulator.update(range(3), torch.zeros(3, 4, 3))
    html = open(save_analysis([flat, still], str(tmp_path))).read()
    assert html.count('data:image/png;base64,') == 2
    assert not (tmp_path / 'proportion.png').exists()
    html = open(save_analysis([flat, network('a', 0)], str(tmp_path))).read()
    assert html.count('data:image/png;base64,') == 4


def test_one_sample_has_no_standard_error():
    single = NetworkStiffness('a', '', StiffnessAccumulator(STAGES))
    single.accumulator.update([0], torch.rand(1, 4, 3))
    summary = single.report().summary()
    assert 'of one sample, no standard error;' in summary
    title = draw_trajectories([single]).axes[0].get_title()
    assert 'nan' not in summary + title


def test_nothing_to_show(tmp_path):
    empty = NetworkStiffness('empty', '', StiffnessAccumulator(STAGES))
    with pytest.raises(ValueError, match='empty.*no sample'):
        save_analysis([empty], str(tmp_path))
    with pytest.raises(ValueError, match='none was given'):
        save_analysis([], str(tmp_path))
    with pytest.raises(ValueError, match=r"no metric 'f1'.*\['acc'\]"):
        save_analysis([network('a', 0, acc=1.)], str(tmp_path), metric='f1')
    with pytest.raises(ValueError, match='0 to 39, got .40'):
        save_analysis([network('a', 0)], str(tmp_path), single=[40])
    save_analysis([empty, network('a', 0)], str(tmp_path))
    assert 'empty' in json.load(open(tmp_path / 'stiffness.json'))['failed']


@pytest.fixture
def folder(tmp_path):
    for label in 'ab':
        (tmp_path / label).mkdir()
        for i in range(3):
            array = np.random.RandomState(i).randint(0, 255, (40, 40, 3))
            Image.fromarray(array.astype('uint8')).save(tmp_path / label /
                                                        f'{i}.png')
    return tmp_path


def test_folder_of_images(folder):
    model, transform = library_model('torchvision:resnet34', False)
    images = ImageFolder(str(folder), transform, num_images=4)
    assert images.classes == ['a', 'b']
    assert images.paths == ['a/0.png', 'a/1.png', 'b/0.png', 'b/1.png']
    measured = measure_network(model, images.batches(3), num_classes=2)
    assert measured.metrics == {}
    assert measured.report().total.num_samples == 4
    small = CIFARResNet(depth=20, block='basic')

    def classify(x):
        return small(x)[0].mean((2, 3))[:, :2]

    class Classifier(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.backbone = small

        def forward(self, x):
            return classify(x)

    measured = measure_network(Classifier(), images.batches(4), num_classes=2)
    assert 0 <= measured.metrics['accuracy/top1'] <= 100


@pytest.mark.parametrize('call, error, sentence', [
    (lambda p: library_model('torchvision:resnet51', False), ValueError,
     r"no network 'resnet51'.*resnet50"),
    (lambda p: library_model('keras:resnet50', False), ValueError,
     'torchvision:NAME or timm:NAME'),
    (lambda p: ImageFolder(f'{p}/no', None), FileNotFoundError,
     'no folder of images'),
    (lambda p: ImageFolder(str(p), None), ValueError, 'no image in'),
    (lambda p: measure_network(torch.nn.Linear(1, 1), []), ValueError,
     'No residual block'),
])
def test_wrong_input(tmp_path, call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(tmp_path)
