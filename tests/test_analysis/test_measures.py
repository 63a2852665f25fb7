# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import math

import pytest
import torch
import torch.nn.functional as F
from classifiers import tiny_classifier, tiny_dataset

from mmstepnet.analysis import (Subject, measure_attack_surface,
                                measure_damping, measure_features,
                                measure_hessian, measure_stiffness,
                                measure_weight_surface, polar_trajectory)
from mmstepnet.analysis.pictures import (plot_attack_surface, plot_damping,
                                         plot_fourier, plot_hessian,
                                         plot_trajectory, plot_variance,
                                         plot_weight_surface)
from mmstepnet.evaluation import PixelBatches, PixelClassifier

pytestmark = pytest.mark.mmpretrain
STEP = dict(type='InResNet', init_range=(0.1, 0.3))
NAMES = [f'layer{i}.{j}' for i in (1, 2, 3) for j in range(2)]


def subject(folder, batch_size=4, **backbone):
    backbone = dict(
        dict(
            type='mmstepnet.CIFARResNet',
            depth=14,
            block='basic',
            base_channels=16,
            step=STEP,
            out_indices=(2, )), **backbone)
    classifier = PixelClassifier(tiny_classifier(**backbone))
    batches = PixelBatches(tiny_dataset(10), batch_size)
    return Subject(classifier, batches, str(folder))


def all_images():
    data = tiny_dataset(10)
    images = torch.stack([sample['inputs'] for sample in data]) / 255
    return images, torch.arange(10)


def assert_is_picture(path):
    assert path.read_bytes().startswith(b'\x89PNG')


def test_features_of_every_block(tmp_path):
    result = measure_features(subject(tmp_path / 'a'))
    assert json.loads(json.dumps(result)) == result
    assert list(result['amplitude']) == list(result['variance']) == NAMES
    for name, size in zip(NAMES, (16, 16, 8, 8, 4, 4)):
        assert len(result['frequencies'][name]) == size // 2 + 1
        assert len(result['amplitude'][name]['mean']) == size // 2 + 1
        assert result['variance'][name]['stderr'] > 0
    one = measure_features(subject(tmp_path / 'b', batch_size=10))
    for name in NAMES:
        for key in ('mean', 'stderr'):
            assert one['variance'][name][key] == pytest.approx(
                result['variance'][name][key], rel=1e-4)
            assert one['amplitude'][name][key] == pytest.approx(
                result['amplitude'][name][key], rel=1e-3, abs=1e-4)
    plot_fourier({'one': one, 'two': result}, str(tmp_path / 'f.png'))
    plot_variance({'one': one}, str(tmp_path / 'v.png'))
    assert_is_picture(tmp_path / 'f.png')
    assert_is_picture(tmp_path / 'v.png')


def test_features_of_a_transformer(tmp_path):
    from mmstepnet.registry import MODELS
    from mmstepnet.robustness import fgsm
    model = MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            data_preprocessor=dict(mean=[127.5] * 3, std=[64.] * 3),
            backbone=dict(
                type='mmpretrain.VisionTransformer',
                arch=dict(
                    embed_dims=8,
                    num_layers=2,
                    num_heads=2,
                    feedforward_channels=16),
                img_size=16,
                patch_size=4),
            head=dict(
                type='mmpretrain.VisionTransformerClsHead',
                num_classes=10,
                in_channels=8))).eval()
    vit = Subject(
        PixelClassifier(model), PixelBatches(tiny_dataset(4), 2),
        str(tmp_path / 'features'))
    result = measure_features(vit)
    assert list(result['variance']) == ['layers.0', 'layers.1']
    assert result['frequencies']['layers.0'] == [0., 0.5, 1.]
    vit.folder = str(tmp_path / 'hessian')
    assert measure_hessian(vit, num_top=1)['max_eigenvalue']['mean'] > 0
    images, labels = all_images()
    attacked = fgsm(vit.loss(labels), images, 4 / 255)
    assert vit.loss(labels)(attacked).mean() > vit.loss(labels)(images).mean()


@pytest.mark.parametrize('damping', ['relu', 'gating'])
def test_damping(tmp_path, damping):
    network = subject(tmp_path / 'parts', step=dict(STEP, damping=damping))
    damped = [name for name in NAMES if name not in ('layer2.0', 'layer3.0')]
    result = measure_damping(network)
    assert list(result['damping']) == damped
    for name in damped:
        lam = network.classifier.model.backbone.get_submodule(name).step.lam
        assert result['damping'][name]['mean'] == pytest.approx(
            lam.item(), rel=1e-6)
    plot_damping({'tiny': result}, str(tmp_path / 'd.png'))
    assert_is_picture(tmp_path / 'd.png')
    with pytest.raises(ValueError, match='steps of the type InResNet'):
        measure_damping(subject(tmp_path / 'plain', step=None))


def test_stiffness_and_accuracy(tmp_path):
    from mmstepnet.stiffness import StiffnessAccumulator, StiffnessRecorder
    network = subject(tmp_path / 'parts', depth=20)
    result = measure_stiffness(network)
    images, labels = all_images()
    with StiffnessRecorder(network.classifier.model) as recorder, \
            torch.no_grad():
        logits = network.classifier(images)
        accumulator = StiffnessAccumulator(recorder.stages)
        accumulator.update(list(range(10)), recorder.pop())
    expected = accumulator.compute()
    assert result['total']['num_samples'] == 10 and result['total']['mean'] > 0
    assert result['total']['mean'] == pytest.approx(
        expected.total.mean, rel=1e-4)
    assert result['accuracy'] == (logits.argmax(1) == labels).double().mean()


def test_hessian(tmp_path):
    network = subject(tmp_path / 'parts', batch_size=5)
    result = measure_hessian(network, num_top=2, max_steps=30)
    assert len(result['batches']) == 2
    images, labels = all_images()
    parameters = list(network.classifier.parameters())
    assert result['num_parameters'] == sum(p.numel() for p in parameters)
    for part, rows in zip(result['batches'], (slice(5), slice(5, 10))):
        loss = F.cross_entropy(network.classifier(images[rows]), labels[rows])
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
        vector = [torch.randn_like(p) for p in parameters]
        for _ in range(60):
            norm = math.sqrt(sum(v.square().sum() for v in vector))
            vector = [v / norm for v in vector]
            vector = torch.autograd.grad(
                gradients, parameters, vector, retain_graph=True)
        power = math.sqrt(sum(v.square().sum() for v in vector))
        # power iteration finds the eigenvalue of the largest magnitude
        assert part['top'][0] == pytest.approx(power, rel=0.01)
        assert part['errors'][0] < 0.01 * part['top'][0]
        assert part['top'] == sorted(part['top'], reverse=True)
        assert sum(part['weights']) == pytest.approx(1)
    tops = [part['top'][0] for part in result['batches']]
    assert result['max_eigenvalue']['mean'] == pytest.approx(sum(tops) / 2)
    plot_hessian({'tiny': result}, str(tmp_path / 'h.png'))
    assert_is_picture(tmp_path / 'h.png')


def test_weight_surface(tmp_path):
    network = subject(tmp_path / 'parts')
    result = measure_weight_surface(network, extent=0.5, num_points=3)
    images, labels = all_images()
    with torch.no_grad():
        centre = F.cross_entropy(network.classifier(images), labels).item()
    assert result['x'] == result['y'] == [-0.5, 0, 0.5]
    assert result['loss'][1][1] == pytest.approx(centre, rel=1e-5)
    values = {value for row in result['loss'] for value in row}
    assert len(values) == 9
    assert 0 <= result['accuracy'][1][1] <= 1
    plot_weight_surface({'a': result, 'b': result}, str(tmp_path / 'w.png'))
    assert_is_picture(tmp_path / 'w.png')


def test_attack_surface(tmp_path):
    network = subject(tmp_path / 'parts')
    result = measure_attack_surface(network, radius=4, num_points=5)
    assert result['x'] == [-4, -2, 0, 2, 4]
    middle = result['loss'][2]
    images, labels = all_images()
    assert middle[2] == pytest.approx(
        network.loss(labels)(images).mean().item(), rel=1e-4)
    assert middle[4] > middle[2]
    plot_attack_surface({'a': result}, str(tmp_path / 'a.png'))
    assert_is_picture(tmp_path / 'a.png')


def test_picture_of_a_trajectory(tmp_path):
    states = [dict(w=torch.tensor([x, x**2])) for x in (2., 1.5, 1., 0.)]
    plot_trajectory({'tiny': polar_trajectory(states)},
                    str(tmp_path / 't.png'))
    assert_is_picture(tmp_path / 't.png')


def test_other_seeds_are_refused(tmp_path):
    network = subject(tmp_path)
    measure_attack_surface(network, num_points=2)
    network.seed = 1
    with pytest.raises(ValueError, match=r'seed=0 \(now 1\)'):
        measure_attack_surface(network, num_points=2)


def shared(rank, world_size, folder):
    return (measure_weight_surface(subject(folder / 'surface'), num_points=2),
            measure_stiffness(subject(folder / 'stiffness')))


@pytest.mark.ddp
def test_two_processes_give_the_numbers_of_one(tmp_path, gloo_pool):
    one = shared(0, 1, tmp_path / 'one')
    first, second = gloo_pool.run(shared, tmp_path / 'two')
    assert first == second
    assert first[1]['total'] == pytest.approx(one[1]['total'])
    for a, b in zip(first[0]['loss'], one[0]['loss']):
        assert a == pytest.approx(b, rel=1e-5)
