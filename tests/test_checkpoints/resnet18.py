# Copyright (c) mmstepnet contributors. All rights reserved.
"""A ResNet-18 and the map that it ends with."""
import torch

from mmstepnet.backbones import ResNet

IMAGES = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def trunk(model):
    """The last map of a model with torchvision's layout."""
    x = model.maxpool(model.relu(model.bn1(model.conv1(IMAGES))))
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
    return x


def build(step, **kwargs):
    torch.manual_seed(1)
    return ResNet(18, step=step, out_indices=(3, ), **kwargs).eval()


@torch.no_grad()
def output(model):
    return model(IMAGES)[0]
