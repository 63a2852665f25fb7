# Copyright (c) mmstepnet contributors. All rights reserved.
"""A thin ResNet with any step."""
import torch

from mmstepnet.backbones import ResNet

STEPS = dict(
    plain=None,
    SE=dict(type='mmstepnet.SE'),
    ECA=dict(type='mmstepnet.ECA'),
    SGE=dict(type='mmstepnet.SGE', groups=16),
    StepNet=dict(type='mmstepnet.StepNet'))


def tiny(depth=50, **kwargs):
    """A network of two thin stages."""
    kwargs = {
        **dict(
            base_channels=16,
            num_stages=2,
            strides=(1, 2),
            dilations=(1, 1),
            out_indices=(0, 1)),
        **kwargs
    }
    torch.manual_seed(0)
    return ResNet(depth, **kwargs)


def images(batch=2, size=32):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, 3, size, size, generator=generator)


def wake_steps(model):
    """Move the steps' parameters off zero, where gradients vanish."""
    with torch.no_grad():
        for block in model.blocks():
            for parameter in block.step.parameters():
                parameter.uniform_(0.05, 0.3)
    return model
