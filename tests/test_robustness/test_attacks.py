# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torch.nn.functional as F
from classifiers import tiny_classifier
from torch import nn

from mmstepnet.evaluation import PixelClassifier
from mmstepnet.robustness import fgsm, ifgsm, image_generators, linf_ball, pgd

ATTACKS = [fgsm, ifgsm, pgd]
RADII = [1 / 255, 2 / 255, 4 / 255, 0.1, 1.]


def small_network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(32, 5)).eval()


def loss_of(model, labels):
    return lambda images: F.cross_entropy(
        model(images), labels, reduction='none')


def pixels(number=16, size=8):
    """8-bit images with black, white and smallest values."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(
        0, 256, (number, 3, size, size), generator=generator) / 255
    images[:, :, 0], images[:, :, 1], images[:, :, 2] = 0., 1., 1e-9
    return images, torch.arange(number) % 5


@pytest.mark.parametrize('attack', ATTACKS)
@pytest.mark.parametrize('radius', RADII)
def test_the_maximum_norm_is_bounded_exactly(attack, radius):
    images, labels = pixels()
    kwargs = {} if attack is fgsm else dict(alpha=max(radius, 2 / 255))
    attacked = attack(
        loss_of(small_network(), labels), images, radius, **kwargs)
    change = (attacked.double() - images.double()).abs()
    assert change.max() <= radius
    assert change.max() > 0.99 * radius
    assert attacked.min() >= 0 and attacked.max() <= 1
    assert attacked.dtype == images.dtype and not attacked.requires_grad


@pytest.mark.parametrize('radius', RADII)
@pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
def test_the_ball_is_as_large_as_rounding_allows(radius, dtype):
    images = torch.rand(
        10000, dtype=dtype, generator=torch.Generator().manual_seed(0))
    images[:256] = torch.arange(256) / 255
    ball = linf_ball(images, radius)
    ends = (images.double() + radius).clamp(max=1), \
        (images.double() - radius).clamp(min=0)
    for bound, end in zip((ball.upper, ball.lower), ends):
        assert ((bound.double() - images.double()).abs() <= radius).all()
        assert (bound.double() - end).abs().max() < torch.finfo(dtype).eps


@pytest.mark.parametrize('attack', ATTACKS)
def test_radius_zero_changes_nothing(attack):
    images, labels = pixels()
    attacked = attack(loss_of(small_network(), labels), images, 0.)
    assert torch.equal(attacked, images)


@pytest.mark.parametrize('attack', ATTACKS)
def test_the_loss_rises_on_average(attack):
    model, (images, labels) = small_network(), pixels()
    loss = loss_of(model, labels)
    before = loss(images).mean()
    for radius in RADII[:3]:
        assert loss(attack(loss, images, radius)).mean() > before


def test_more_steps_and_a_larger_radius_are_stronger():
    images, labels = pixels()
    loss = loss_of(small_network(), labels)
    one, many = fgsm(loss, images, 0.1), ifgsm(
        loss, images, 0.1, steps=10, alpha=0.02)
    assert loss(many).mean() >= loss(one).mean()
    losses = [loss(fgsm(loss, images, r)).mean() for r in RADII[:4]]
    assert losses == sorted(losses)


def test_fgsm_of_a_linear_model_in_closed_form():
    images, labels = pixels()
    linear = nn.Linear(3 * 8 * 8, 5).double()
    model = nn.Sequential(nn.Flatten(), linear)
    attacked = fgsm(loss_of(model, labels), images.double(), 2 / 255)
    probabilities = model(images.double()).softmax(1)
    gradient = (probabilities - F.one_hot(labels, 5)) @ linear.weight
    expected = images + 2 / 255 * gradient.sign().view_as(images)
    torch.testing.assert_close(
        attacked, expected.clamp(0, 1), rtol=0, atol=1e-15)


def test_iterated_fgsm_step_by_step():
    images, labels = pixels()
    loss = loss_of(small_network(), labels)
    expected = images
    for _ in range(3):
        x = expected.detach().requires_grad_()
        gradient, = torch.autograd.grad(loss(x).sum(), x)
        x = expected + 2 / 255 * gradient.sign()
        expected = x.clamp(images - 3 / 255, images + 3 / 255).clamp(0, 1)
    attacked = ifgsm(loss, images, 3 / 255, alpha=2 / 255, steps=3)
    torch.testing.assert_close(attacked, expected, rtol=0, atol=1e-6)


def test_pgd_starts_anywhere_in_the_ball():
    images = torch.full((200, 1, 2, 2), 0.5)
    starts = pgd(lambda x: x.sum((1, 2, 3)), images, 0.1, steps=0)
    offsets = (starts - images) / 0.1
    assert offsets.min() < -0.95 and offsets.max() > 0.95
    assert abs(offsets.mean()) < 3 / (3 * 800)**0.5
    assert abs(offsets.var() - 1 / 3) < 0.03


def test_pgd_depends_on_the_image_alone():
    images, labels = pixels()
    model = small_network()
    together = pgd(
        loss_of(model, labels),
        images,
        4 / 255,
        steps=2,
        generators=image_generators(0, range(16)))
    alone = pgd(
        loss_of(model, labels[5:7]),
        images[5:7],
        4 / 255,
        steps=2,
        generators=image_generators(0, [5, 6]))
    torch.testing.assert_close(together[5:7], alone, rtol=0, atol=1e-7)
    other = pgd(
        loss_of(model, labels),
        images,
        4 / 255,
        steps=2,
        generators=image_generators(1, range(16)))
    assert not torch.equal(together, other)


def test_gradients_of_the_weights_are_left_alone():
    model, (images, labels) = small_network(), pixels()
    with torch.no_grad():
        pgd(loss_of(model, labels), images, 1 / 255, steps=2)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.mmpretrain
def test_attacks_a_classifier_of_mmpretrain():
    model = PixelClassifier(tiny_classifier())
    images = torch.rand(4, 3, 32, 32)
    loss = loss_of(model, torch.arange(4))
    attacked = pgd(loss, images, 4 / 255, steps=3)
    assert (attacked - images).abs().max() <= 4 / 255
    assert loss(attacked).mean() > loss(images).mean()


def test_impossible_radius():
    with pytest.raises(ValueError, match='radius must not be negative'):
        linf_ball(torch.zeros(1), -0.1)
