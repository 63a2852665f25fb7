# Copyright (c) mmstepnet contributors. All rights reserved.
"""A runner whose stiffness is known."""
import itertools
import json
import os.path as osp

import torch
from known_network import SCALES, KnownDataset, KnownModel, NoMetric
from mmengine.evaluator import Evaluator
from mmengine.runner import Runner

from mmstepnet.stiffness import tns

NUMBERS = itertools.count()
MEASURED = [list(scales[1:]) for scales in SCALES.values()]
TOTAL = tns(torch.tensor([sum(MEASURED, [])]),
            [len(m) for m in MEASURED]).item()


def make_runner(work_dir,
                hook=None,
                model=None,
                epochs=0,
                batch_size=2,
                size=7,
                broken=(),
                **kwargs):
    loader = dict(
        batch_size=batch_size,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False, round_up=size > 0),
        dataset=KnownDataset(size, broken),
        collate_fn=dict(type='pseudo_collate'))
    if epochs:
        kwargs.update(
            train_dataloader=loader,
            train_cfg=dict(by_epoch=True, max_epochs=epochs, val_interval=1),
            optim_wrapper=dict(optimizer=dict(type='SGD', lr=0.1)))
    kwargs.setdefault('default_hooks', dict(checkpoint=None))
    return Runner(
        model=model or KnownModel(),
        work_dir=str(work_dir),
        val_dataloader=loader,
        val_cfg=kwargs.pop('val_cfg', dict()),
        val_evaluator=Evaluator(NoMetric()),
        test_dataloader=loader,
        test_cfg=dict(),
        test_evaluator=Evaluator(NoMetric()),
        custom_hooks=[hook or dict(type='mmstepnet.TNSHook')],
        default_scope='mmengine',
        experiment_name=f'tns_{next(NUMBERS)}',
        **kwargs)


def lines(work_dir):
    with open(osp.join(work_dir, 'tns.jsonl')) as file:
        return [json.loads(line) for line in file]


def logged(work_dir):
    return ''.join(p.read_text() for p in work_dir.glob('*/*.log'))


def hooks_of(model):
    return sum(len(m._forward_hooks) for m in model.modules())
