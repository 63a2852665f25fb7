# Copyright (c) mmstepnet contributors. All rights reserved.
"""Networks of other projects, with the names that their files have."""
import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet


class OfficialECA(nn.Module):
    """The layer of ECA-Net's authors, by its names."""

    def __init__(self, channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv1d(
            1, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, x):
        y = F.adaptive_avg_pool2d(x, 1)
        y = self.conv(y.squeeze(-1).transpose(-1, -2))
        return x * y.transpose(-1, -2).unsqueeze(-1).sigmoid()


class OfficialSE(nn.Module):
    """The layer of the usual port of SENet, by its names."""

    def __init__(self, channels, reduction=16):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction, bias=False), nn.ReLU(),
            nn.Linear(channels // reduction, channels, bias=False),
            nn.Sigmoid())

    def forward(self, x):
        y = self.fc(x.mean((2, 3)))
        return x * y[:, :, None, None]


def attention_resnet18(name, make):
    """torchvision's ResNet-18 with ``make(channels)`` in every block."""

    class Block(BasicBlock):

        def __init__(self, inplanes, planes, *args, **kwargs):
            super().__init__(inplanes, planes, *args, **kwargs)
            setattr(self, name, make(planes))

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = getattr(self, name)(self.bn2(self.conv2(out)))
            return self.relu(out + identity)

    return randomize(ResNet(Block, [2, 2, 2, 2], num_classes=3))


@torch.no_grad()
def randomize(model):
    """Give norms a past, so that none of them is nearly the identity."""
    generator = torch.Generator().manual_seed(0)

    def draw(tensor, low, high):
        tensor.copy_(
            torch.rand(tensor.shape, generator=generator) * (high - low) + low)

    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            draw(module.running_mean, -.1, .1)
            draw(module.running_var, .5, 1.5)
            draw(module.weight, .5, 1.)
            draw(module.bias, -.2, .2)
    model.eval()
    return model


def error(got, expected):
    """Largest difference relative to the largest expected value."""
    return float((got - expected).abs().max() / expected.abs().max())
