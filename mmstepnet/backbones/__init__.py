# Copyright (c) mmstepnet contributors. All rights reserved.
from .alternet import CIFARAlterNet
from .blocks import BasicBlock, Bottleneck, ResidualBlock
from .preact_cifar import PreActCIFARResNet
from .resnet import ResNet, ResNetV1d
from .resnet_cifar import CIFARResNet
from .vit import VisionTransformer

__all__ = [
    'BasicBlock', 'Bottleneck', 'CIFARAlterNet', 'CIFARResNet',
    'PreActCIFARResNet', 'ResNet', 'ResNetV1d', 'ResidualBlock',
    'VisionTransformer'
]
