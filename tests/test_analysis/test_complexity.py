# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch

from mmstepnet.analysis.complexity import (checkpoint_size,
                                           count_multiply_adds,
                                           count_parameters, measure_latencies)
from mmstepnet.backbones import CIFARResNet, ResNet, VisionTransformer


def test_multiply_adds_of_known_networks():
    with torch.device('meta'):
        resnet50, resnet18 = ResNet(50), ResNet(18)
        resnet20 = CIFARResNet(20, block='basic', shortcut='pad')
    # torchvision reports 4.089 and 1.814 G with the linear layer
    assert count_multiply_adds(resnet50, (3, 224, 224)) + 2_048_000 == \
        4_089_184_256
    assert count_multiply_adds(resnet18, (3, 224, 224)) + 512_000 == \
        1_814_073_344
    assert f'{count_multiply_adds(resnet20, (3, 32, 32)) / 1e6:.1f}' == '40.6'


def test_attention_counts():
    with torch.device('meta'):
        model = VisionTransformer(num_layers=1)
    tokens, width = 64, 256
    linear = 4 * width**2 + 2 * width * 512
    attention = 2 * tokens * width
    assert count_multiply_adds(model, (3, 32, 32)) == \
        tokens * (linear + attention + 48 * width)


@pytest.mark.parametrize('training', [True, False])
def test_measuring_leaves_the_model_as_it_is(training):
    model = CIFARResNet(11, step='StepNet').train(training)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    latency, = measure_latencies([model], (3, 8, 8), 1)
    assert latency > 0
    count_multiply_adds(model, (3, 8, 8))
    assert model.training is training
    assert all(
        torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_checkpoint_holds_parameters_and_buffers():
    model = torch.nn.BatchNorm2d(1000)
    assert count_parameters(model) == 2000
    assert 16_000 < checkpoint_size(model) < 20_000


def test_no_repeats():
    with pytest.raises(ValueError, match='repeats must be positive, got 0'):
        measure_latencies([torch.nn.Identity()], (3, 8, 8), 0)
