# Copyright (c) mmstepnet contributors. All rights reserved.
from .blocks import BasicBlock, Bottleneck, ResidualBlock
from .resnet import ResNet, ResNetV1d
from .resnet_cifar import CIFARResNet

__all__ = [
    'BasicBlock', 'Bottleneck', 'CIFARResNet', 'ResNet', 'ResNetV1d',
    'ResidualBlock'
]
