# Copyright (c) mmstepnet contributors. All rights reserved.
"""A network whose NSI is known: sample i has NSI ``SCALES[t] * (i + 1)``."""
import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.structures import BaseDataElement
from torch import nn
from torch.utils.data import Dataset

from mmstepnet.steps import Unit
from mmstepnet.steps.base import Step

# The first block of a stage is not measured: its scale is of no account.
SCALES = dict(layer1=(9., 1., 3.), layer2=(9., 2.), layer3=(9., 1., 1., 4.))
STEP_SIZE = 0.5


class Half(Step):
    """A step of half the length."""

    def step_size(self, residual, identity):
        return residual.new_full((1, residual.shape[1], 1, 1), STEP_SIZE)


class KnownBlock(nn.Module):
    """f(x) = scale * c * x with c = x_1 / x_0, which the step leaves."""

    def __init__(self, scale, step):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))
        self.step = step(2)

    def forward(self, x):
        ratio = x[:, 1:].mean((2, 3), keepdim=True) / \
            x[:, :1].mean((2, 3), keepdim=True)
        return self.step(self.scale * ratio * x, x)


class KnownBackbone(nn.Module):

    def __init__(self, scales=SCALES, step=Unit):
        super().__init__()
        for name, values in scales.items():
            setattr(
                self, name,
                nn.Sequential(*[KnownBlock(scale, step) for scale in values]))
        self.stages = list(scales)

    def forward(self, x):
        # Two channels of ratio c = i + 1 out of an image of three.
        for name in self.stages:
            x = getattr(self, name)(x)
        return x


class KnownDataset(Dataset):
    metainfo = dict()

    def __init__(self, size=7, broken=()):
        self.size = size
        self.broken = broken

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        image = torch.ones(2, 4, 4)
        image[1] = float('nan') if index in self.broken else index + 1
        sample = BaseDataElement(
            metainfo=dict(img_id=index, img_path=f'{index}.png'))
        return dict(inputs=image, data_samples=sample)


class KnownModel(BaseModel):

    def __init__(self, fail_at=None, named=True, **kwargs):
        super().__init__()
        self.backbone = KnownBackbone(**kwargs)
        self.head = nn.Linear(2, 1)
        self.fail_at = fail_at
        self.named = named

    def forward(self, inputs, data_samples=None, mode='tensor'):
        inputs = torch.stack(tuple(inputs))
        out = self.backbone(inputs).mean((2, 3))
        if mode == 'loss':
            # Of no account for the backbone: its scales have to stay known.
            return dict(loss=self.head(out.detach()).tanh().mean())
        if self.fail_at in [sample.img_id for sample in data_samples]:
            raise RuntimeError('no way')
        return data_samples if self.named else [0] * len(data_samples)


class NoMetric(BaseMetric):

    def process(self, data_batch, data_samples):
        self.results.extend(0 for _ in data_samples)

    def compute_metrics(self, results):
        return dict(count=len(results))


def known_mean(value_at_one, size=7):
    """Mean over samples of a number proportional to i + 1."""
    return value_at_one * (size + 1) / 2
