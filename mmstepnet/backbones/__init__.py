# Copyright (c) mmstepnet contributors. All rights reserved.
from .blocks import BasicBlock, Bottleneck, ResidualBlock
from .resnet import ResNet, ResNetV1d

__all__ = ['BasicBlock', 'Bottleneck', 'ResNet', 'ResNetV1d', 'ResidualBlock']
