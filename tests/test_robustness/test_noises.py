# Copyright (c) mmstepnet contributors. All rights reserved.
import math

import pytest
import torch

from mmstepnet.robustness import NOISES, STRENGTHS, add_noise, image_generators

NUMBER = 200_000


def grey(value, number=NUMBER):
    return torch.full((1, 1, number // 100, 100), value, dtype=torch.float64)


def noisy(name, value, severity):
    strength = STRENGTHS[name][severity - 1]
    generators = image_generators(severity, [0])
    return NOISES[name](grey(value), strength, generators).flatten(), strength


def assert_moments(values, mean, variance, kurtosis=3.):
    """Mean and variance within five standard errors."""
    number = len(values)
    assert abs(values.mean() - mean) < 5 * math.sqrt(variance / number)
    assert abs(values.var() - variance) < 5 * variance * math.sqrt(
        (kurtosis - 1) / number)


SEVERITIES = range(1, 6)


@pytest.mark.parametrize('severity', SEVERITIES)
def test_gaussian(severity):
    values, c = noisy('gaussian', 0.5, severity)
    assert_moments(values, 0.5, c**2)


@pytest.mark.parametrize('severity', SEVERITIES)
def test_speckle(severity):
    values, c = noisy('speckle', 0.4, severity)
    assert_moments(values, 0.4, (0.4 * c)**2)


@pytest.mark.parametrize('severity', SEVERITIES)
def test_shot(severity):
    values, c = noisy('shot', 0.3, severity)
    assert_moments(values, 0.3, 0.3 / c, kurtosis=3 + 1 / (0.3 * c))
    counts = values * c
    torch.testing.assert_close(counts, counts.round())


@pytest.mark.parametrize('severity', SEVERITIES)
def test_impulse(severity):
    values, c = noisy('impulse', 0.5, severity)
    assert set(values.unique().tolist()) == {0., 0.5, 1.}
    error = 5 * math.sqrt(c / 2 / NUMBER)
    for end in (0., 1.):
        assert abs((values == end).double().mean() - c / 2) < error


@pytest.mark.parametrize('name', NOISES)
def test_eight_bits_inside_the_range(name):
    images = torch.rand(8, 3, 16, 16)
    out = add_noise(images, name, 5, image_generators(0, range(8)))
    assert out.min() >= 0 and out.max() <= 1 and out.shape == images.shape
    levels = out * 255
    torch.testing.assert_close(levels, levels.round(), rtol=0, atol=1e-4)


def test_eight_bits_keep_what_has_no_noise():
    images = (torch.arange(256) / 255.).view(1, 1, 16, 16)
    out = add_noise(images, 'impulse', 1, image_generators(0, [0]))
    changed = out != images
    assert 0 < changed.sum() < 15
    assert ((out[changed] == 0) | (out[changed] == 1)).all()


@pytest.mark.parametrize('name', NOISES)
def test_seeded_by_image(name):
    images = torch.rand(4, 3, 8, 8)
    out = add_noise(images, name, 3, image_generators(0, [7, 8, 9, 10]))
    again = add_noise(images[1:3], name, 3, image_generators(0, [8, 9]))
    other = add_noise(images, name, 3, image_generators(1, [7, 8, 9, 10]))
    assert torch.equal(out[1:3], again)
    assert not torch.equal(out, other)


def test_more_severe_noise_changes_more():
    images = torch.rand(4, 3, 32, 32)
    for name in NOISES:
        changes = [(add_noise(images, name, s, image_generators(0, range(4))) -
                    images).square().mean() for s in SEVERITIES]
        assert changes == sorted(changes)


@pytest.mark.parametrize('name', NOISES)
def test_agrees_with_imagecorruptions(name):
    """Same noise at the strength that both packages have in common."""
    corruptions = pytest.importorskip('imagecorruptions.corruptions')
    import numpy as np
    strengths = dict(gaussian=0.08, shot=60, impulse=0.03, speckle=0.20)
    severities = dict(gaussian=1, shot=1, impulse=1, speckle=2)
    image = np.full((200, 200, 3), 128, dtype=np.uint8)
    np.random.seed(0)
    function = getattr(corruptions, f'{name}_noise')
    theirs = function(image, severity=severities[name]) / 255
    ours = NOISES[name](torch.full((1, 3, 200, 200), 128 / 255.),
                        strengths[name], image_generators(0, [0])).clamp(0, 1)
    assert abs(theirs.mean() - ours.mean()) < 2e-3
    assert abs(theirs.std() / ours.std() - 1) < 0.03


@pytest.mark.parametrize('args, message', [
    (('salt', 1), "noise must be one of .* got 'salt'"),
    (('shot', 0), 'severity must be from 1 to 5, got 0'),
])
def test_impossible_noise(args, message):
    with pytest.raises(ValueError, match=message):
        add_noise(torch.zeros(1, 3, 2, 2), *args)
