# Copyright (c) mmstepnet contributors. All rights reserved.
"""Networks with a ResNet-50's trunk that the benchmarks compare."""
import torch
from torch import nn

from mmstepnet.backbones import ResNet
from mmstepnet.folding import fold_steps
from mmstepnet.registry import MODELS
from mmstepnet.steps import StepNet


@MODELS.register_module()
class LiteralStepNet(StepNet):
    """StepNet as its text reads: convolve two whole states, then pool."""

    def step_size(self, residual, identity):
        n, c, h, w = residual.shape
        states = torch.stack((identity, identity + residual), dim=2)
        z = nn.functional.conv2d(
            states.reshape(n, 2 * c, h, w),
            self.weight[:, :, None, None],
            groups=c)
        pooled = nn.functional.adaptive_avg_pool2d(z, 1).flatten(1)
        return self.excite(self.norm(pooled)).sigmoid()[:, :, None, None]

    def forward(self, residual, identity=None):
        return identity + residual * self.step_size(residual, identity)


class LastMap(nn.Module):
    """A network reduced to the map that it ends with."""

    def __init__(self, model, forward=None):
        super().__init__()
        self.model = model
        self.run = forward or model

    def forward(self, x):
        out = self.run(x)
        return out[-1] if isinstance(out, (tuple, list)) else out


def ours(step):
    return LastMap(ResNet(50, step=step, out_indices=(3, )))


def torchvision_resnet50():
    from torchvision.models import resnet50
    model = resnet50()
    model.avgpool = model.fc = nn.Identity()
    layers = ('conv1', 'bn1', 'relu', 'maxpool', 'layer1', 'layer2', 'layer3',
              'layer4')
    return LastMap(nn.Sequential(*(getattr(model, n) for n in layers)))


def mmpretrain_seresnet50():
    return LastMap(
        MODELS.build(
            dict(type='mmpretrain.SEResNet', depth=50, out_indices=(3, ))))


def timm_resnet50(attention):
    import timm
    model = timm.create_model(
        'resnet50', block_args=dict(attn_layer=attention))
    return LastMap(model, model.forward_features)


def folded():
    model = ours('ASR').eval()
    fold_steps(model)
    return model


NETWORKS = {
    'plain': lambda: ours(None),
    'torchvision resnet50': torchvision_resnet50,
    'StepNet': lambda: ours('StepNet'),
    'StepNet, literal': lambda: ours('LiteralStepNet'),
    'SE': lambda: ours('SE'),
    'ECA': lambda: ours('ECA'),
    'SGE': lambda: ours('SGE'),
    'ASR': lambda: ours('ASR'),
    'ASR, folded': folded,
    'MMPretrain SEResNet-50': mmpretrain_seresnet50,
    'timm seresnet50': lambda: timm_resnet50('se'),
    'timm resnet50 + eca': lambda: timm_resnet50('eca'),
}
