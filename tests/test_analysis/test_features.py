# Copyright (c) mmstepnet contributors. All rights reserved.
import math

import pytest
import torch
from torch import nn

from mmstepnet.analysis import (blocks_by_name, feature_variance, frequencies,
                                log_amplitude, reduce_blocks)
from mmstepnet.analysis.features import as_map
from mmstepnet.backbones import CIFARResNet


def wave(size, k, mean=2., amplitude=0.5):
    """A sinusoid of k periods in both directions."""
    x = torch.arange(size, dtype=torch.float64)
    phase = 2 * torch.pi * k / size * (x[:, None] + x)
    return (mean + amplitude * torch.cos(phase))[None, None]


@pytest.mark.parametrize('size, k', [(8, 1), (8, 3), (16, 5), (9, 2), (32, 7)])
def test_a_sinusoid_gives_its_line(size, k):
    """Half its amplitude at +-k over the mean at 0, and nothing elsewhere."""
    line = log_amplitude(wave(size, k), eps=1e-9)[0]
    assert len(line) == size // 2 + 1 == len(frequencies(size, size))
    assert line[0] == 0
    assert line[k].item() == pytest.approx(math.log(0.5 / (2 * 2)), abs=1e-9)
    others = torch.cat([line[1:k], line[k + 1:]])
    assert (others < math.log(1e-9)).all()
    assert frequencies(size, size)[k] == pytest.approx(2 * k / size)


def test_the_highest_frequency_is_a_chessboard():
    line = log_amplitude(wave(8, 4), eps=1e-9)[0]
    # +k and -k are the same line here
    assert line[4].item() == pytest.approx(math.log(0.5 / 2), abs=1e-9)
    assert frequencies(8, 8)[-1] == 1.


def test_maps_that_are_not_square():
    x, y = torch.arange(16.), torch.arange(8.)
    board = 3 + torch.cos(torch.pi / 2 * (y[:, None] + x))
    line = log_amplitude(board[None, None])[0]
    assert len(line) == len(frequencies(8, 16)) == 5
    assert line[1:].argmax() == 1  # pi / 2
    assert frequencies(8, 16)[2] == 0.5
    assert line[2].item() == pytest.approx(math.log(1 / 6), abs=1e-5)


def test_scale_does_not_matter_and_channels_are_averaged():
    maps = torch.rand(3, 4, 8, 8) + 1
    line = log_amplitude(maps)
    torch.testing.assert_close(
        log_amplitude(7 * maps), line, rtol=1e-4, atol=1e-4)
    single = torch.stack([log_amplitude(maps[:, i:i + 1]) for i in range(4)])
    torch.testing.assert_close(single.mean(0), line)


def test_white_noise_is_flat_and_blur_is_not():
    torch.manual_seed(0)
    noise = torch.randn(64, 8, 16, 16)
    flat = log_amplitude(noise).mean(0)
    # a real number (frequencies 0 and pi) has another mean logarithm than a
    # complex one
    assert flat[1:-1].std() < 0.1 and abs(flat[-1]) < 0.2
    blurred = nn.functional.avg_pool2d(noise, 3, 1, 1)
    assert log_amplitude(blurred).mean(0)[-1] < flat[-1] - 1


def test_variance():
    torch.manual_seed(0)
    maps = torch.randn(4, 5, 6, 7, dtype=torch.float64)
    expected = torch.stack([torch.cov(x.flatten(1)).diag() for x in maps])
    torch.testing.assert_close(feature_variance(maps), expected.mean(1))
    assert feature_variance(torch.ones(2, 3, 1, 1)).tolist() == [0, 0]


def test_tokens_become_a_map():
    tokens = torch.arange(2 * 17 * 3.).view(2, 17, 3)
    assert torch.equal(as_map(tokens)[1, :, 2, 3], tokens[1, 1 + 2 * 4 + 3])
    assert as_map((tokens[:, 1:], None)).shape == (2, 3, 4, 4)
    for shape in ((2, 20, 3), (2, 3)):
        with pytest.raises(ValueError, match='tokens .* of a square grid'):
            as_map(torch.zeros(shape))


def test_blocks_by_default_and_by_name():
    model = CIFARResNet(20, block='basic')
    names = [f'layer{i}.{j}' for i in (1, 2, 3) for j in range(3)]
    assert list(blocks_by_name(model)) == names
    assert list(blocks_by_name(model,
                               r'layer\d')) == ['layer1', 'layer2', 'layer3']
    with pytest.raises(ValueError, match="names match 'stage'.* got none"):
        blocks_by_name(model, 'stage')
    with pytest.raises(ValueError, match='expected residual blocks in Conv2d'):
        blocks_by_name(nn.Conv2d(1, 1, 1))


def test_blocks_put_out_what_is_measured():
    model = CIFARResNet(14, block='basic', base_channels=4).eval()
    images = torch.rand(2, 3, 8, 8)
    means = reduce_blocks(
        blocks_by_name(model), lambda name, maps: maps.mean((1, 2, 3)),
        lambda: model(images))
    torch.testing.assert_close(means['layer3.1'],
                               model(images)[0].mean((1, 2, 3)))
    assert list(means)[0] == 'layer1.0' and len(means) == 6
    assert not any(m._forward_hooks for m in model.modules())


def test_hooks_are_gone_after_an_error():
    model = nn.ModuleDict(dict(layer1=nn.Sequential(nn.Identity())))

    def fail():
        raise RuntimeError('no')

    blocks = blocks_by_name(model, r'layer1\.0')
    with pytest.raises(RuntimeError, match='no'):
        reduce_blocks(blocks, lambda name, maps: maps, fail)
    assert not model.layer1[0]._forward_hooks
