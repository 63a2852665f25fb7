# Copyright (c) mmstepnet contributors. All rights reserved.
"""The known network inside MMDetection and MMPretrain."""
import json
import os.path as osp

import pytest
import torch
from gloo import GlooPool
from known_network import SCALES, KnownBackbone, NoMetric, known_mean
from mmengine.evaluator import Evaluator
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import Dataset

from mmstepnet.registry import MODELS
from mmstepnet.stiffness import tns

SIZES = [len(scales) - 1 for scales in SCALES.values()]
TOTAL = tns(
    torch.tensor([sum((list(s[1:]) for s in SCALES.values()), [])]),
    SIZES).item()


@MODELS.register_module()
class StiffBackbone(KnownBackbone):
    """NSI ``SCALES[t] * (i + 1)`` for an image whose green is i + 1."""

    def __init__(self):
        super().__init__()
        self.is_init = True

    def init_weights(self):
        pass

    def forward(self, x):
        return (super().forward(x[:, :2]) * 0, )


class Images(Dataset):
    metainfo = dict(classes=('a', 'b'))

    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 7

    def __getitem__(self, index):
        image = torch.ones(3, 32, 32)
        image[1] = index + 1
        if self.library == 'mmdet':
            from mmdet.structures import DetDataSample
            sample = DetDataSample(
                metainfo=dict(
                    img_id=index,
                    img_path=f'{index}.png',
                    img_shape=(32, 32),
                    ori_shape=(32, 32),
                    scale_factor=(1., 1.)))
        else:
            from mmpretrain.structures import DataSample
            sample = DataSample(metainfo=dict(sample_idx=index))
            sample.set_gt_label(0)
        return dict(inputs=image, data_samples=sample)


DETECTOR = dict(
    type='mmdet.RetinaNet',
    data_preprocessor=dict(type='mmdet.DetDataPreprocessor'),
    backbone=dict(type='mmstepnet.StiffBackbone'),
    neck=dict(type='mmdet.FPN', in_channels=[2], out_channels=4, num_outs=1),
    bbox_head=dict(
        type='mmdet.RetinaHead',
        num_classes=2,
        in_channels=4,
        stacked_convs=1,
        feat_channels=4,
        anchor_generator=dict(
            type='mmdet.AnchorGenerator', scales=[4], ratios=[1.],
            strides=[1]),
        bbox_coder=dict(type='mmdet.DeltaXYWHBBoxCoder')),
    test_cfg=dict(
        nms_pre=10,
        min_bbox_size=0,
        score_thr=0.9,
        nms=dict(type='nms', iou_threshold=0.5),
        max_per_img=5))
CLASSIFIER = dict(
    type='mmpretrain.ImageClassifier',
    data_preprocessor=dict(num_classes=2),
    backbone=dict(type='mmstepnet.StiffBackbone'),
    neck=dict(type='mmpretrain.GlobalAveragePooling'),
    head=dict(type='mmpretrain.LinearClsHead', num_classes=2, in_channels=2))


def validate(rank, world_size, library, work_dir):
    scope = dict(default_scope=library)
    import mmengine
    if library == 'mmdet':
        import mmdet.models  # noqa: F401
        model = DETECTOR
    else:
        import mmpretrain.models  # noqa: F401
        model = CLASSIFIER
    loader = dict(
        batch_size=2,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=Images(library),
        collate_fn=dict(type='pseudo_collate'))
    runner = Runner(
        model=mmengine.ConfigDict(model),
        work_dir=work_dir,
        val_dataloader=loader,
        val_cfg=dict(),
        val_evaluator=Evaluator(NoMetric()),
        default_hooks=dict(checkpoint=None),
        custom_hooks=[dict(type='mmstepnet.TNSHook')],
        experiment_name=osp.basename(work_dir),
        **scope)
    metrics = runner.val()
    assert isinstance(runner.model, nn.Module)
    return {k: float(v) for k, v in metrics.items() if '/' in k}


@pytest.fixture(scope='module')
def three_processes():
    pool = GlooPool(3)
    yield pool
    pool.close()


def check(results, work_dir):
    for metrics in results:
        assert metrics['tns/total'] == pytest.approx(
            known_mean(TOTAL), rel=1e-6)
        assert metrics['nsi/layer3.3'] == pytest.approx(
            known_mean(4), rel=1e-6)
    with open(osp.join(work_dir, 'tns.jsonl')) as file:
        record, = map(json.loads, file)
    assert record['total']['num_samples'] == 7


@pytest.mark.ddp
@pytest.mark.parametrize('library', [
    pytest.param('mmdet', marks=pytest.mark.mmdet),
    pytest.param('mmpretrain', marks=pytest.mark.mmpretrain)
])
def test_known_value(library, tmp_path, gloo_pool, three_processes):
    pytest.importorskip(library)
    folders = [str(tmp_path / f'{library}{n}') for n in (1, 2, 3)]
    check([validate(0, 1, library, folders[0])], folders[0])
    check(gloo_pool.run(validate, library, folders[1]), folders[1])
    check(three_processes.run(validate, library, folders[2]), folders[2])
