# Copyright (c) mmstepnet contributors. All rights reserved.
"""The attacks against those of other libraries, where one is installed."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmstepnet.robustness import fgsm, ifgsm

EPS, ALPHA, STEPS = 4 / 255, 2 / 255, 20


def torchattacks_images(model, images, labels):
    library = pytest.importorskip('torchattacks')
    return (library.FGSM(model, eps=EPS)(images, labels),
            library.BIM(model, eps=EPS, alpha=ALPHA, steps=STEPS)(images,
                                                                  labels))


def foolbox_images(model, images, labels):
    library = pytest.importorskip('foolbox')
    wrapped = library.PyTorchModel(model, bounds=(0, 1))
    attacks = (library.attacks.LinfFastGradientAttack(),
               library.attacks.LinfBasicIterativeAttack(
                   abs_stepsize=ALPHA, steps=STEPS, random_start=False))
    return [
        attack(wrapped, images, labels, epsilons=EPS)[1] for attack in attacks
    ]


def art_images(model, images, labels):
    evasion = pytest.importorskip('art.attacks.evasion')
    from art.estimators.classification import PyTorchClassifier
    wrapped = PyTorchClassifier(
        model,
        loss=nn.CrossEntropyLoss(),
        input_shape=images.shape[1:],
        nb_classes=5,
        clip_values=(0, 1),
        device_type='cpu')
    attacks = (evasion.FastGradientMethod(wrapped, eps=EPS),
               evasion.ProjectedGradientDescent(
                   wrapped,
                   eps=EPS,
                   eps_step=ALPHA,
                   max_iter=STEPS,
                   num_random_init=0,
                   verbose=False))
    return [
        torch.from_numpy(
            attack.generate(images.numpy(),
                            F.one_hot(labels, 5).numpy()))
        for attack in attacks
    ]


@pytest.mark.parametrize('attacked',
                         [torchattacks_images, foolbox_images, art_images])
def test_same_images(attacked):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(32, 5)).eval()
    images = torch.randint(0, 256, (16, 3, 8, 8)) / 255
    labels = torch.arange(16) % 5
    theirs = attacked(model, images, labels)

    def loss(x):
        return F.cross_entropy(model(x), labels, reduction='none')

    ours = fgsm(loss, images, EPS), ifgsm(loss, images, EPS, ALPHA, STEPS)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
