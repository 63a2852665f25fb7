# Copyright (c) mmstepnet contributors. All rights reserved.
"""Configs: wrong values, wrong names, files that can't be read."""
from pathlib import Path
from typing import Iterator

from .harness import Case, Outcome, tool

# --cfg-options of a training, and what the sentence has to say.
OPTIONS = (
    ('model.backbone.depth=fifty', "got 'fifty'", 'an integer'),
    ('model.backbone.depth=50', 'expected input', 'to have 8 channels',
     'in FPN'),
    ('model.backbone.depth=19', 'got 19', '[18, 34, 50, 101, 152]'),
    ('model.backbone.depth=None', 'depth', 'an integer', 'got None'),
    ('model.backbone.depth=18.0', 'an integer', 'got 18.0'),
    ('model.backbone.depth=True', 'an integer', 'got True'),
    ('model.backbone.step=3', 'step', 'got 3', 'a string or a dict'),
    ('model.backbone.step=[mmstepnet.SE,None]', 'step', '4 stages', 'got 2'),
    ('model.backbone.step.type=mmstepnet.StepNett', "'mmstepnet.StepNett'",
     "did you mean 'StepNet'?"),
    ('model.backbone.step.type=mmdet.FPN', "got 'mmdet.FPN'", 'one of'),
    ('model.backbone.step.type=', "got ''", 'one of'),
    ('model.backbone.step.inputs=now', "got 'now'", "'both'"),
    ('model.backbone.step.inputz=both', "'inputz'", "mean 'inputs'?"),
    ('model.backbone.step_blocks=3', 'step_blocks', 'a list', 'got 3'),
    ('model.backbone.step_blocks=[[9],None,None,None]', '[9]', 'from 0 to 1'),
    ('model.backbone.step_blocks=[1,2,3,4]', 'lists of integers', 'got [1,'),
    ('model.backbone.step_at_shape_change=maybe', "'maybe'", 'True or False'),
    ('model.backbone.strides=2', 'strides', 'a list', 'got 2'),
    ('model.backbone.strides=(1,2)', '4 stages', 'got (1, 2)'),
    ('model.backbone.strides=(0,2,2,2)', 'positive integers', '(0, 2, 2, 2)'),
    ('model.backbone.dilations=(1,1,1,-1)', 'positive', '(1, 1, 1, -1)'),
    ('model.backbone.out_indices=3', 'out_indices', 'a list', 'got 3'),
    ('model.backbone.out_indices=(0,7)', 'from 0 to 3', 'got (0, 7)'),
    ('model.backbone.num_stages=5', 'from 1 to 4', 'got 5'),
    ('model.backbone.num_stages=four', "'four'", 'an integer'),
    ('model.backbone.style=torch', "'torch'", "'pytorch' or 'caffe'"),
    ('model.backbone.frozen_stages=9', 'from -1 to 4', 'got 9'),
    ('model.backbone.norm_cfg=BN', 'norm_cfg', 'a dict', "'BN'"),
    ('model.backbone.norm_cfg.type=BNN', 'norm_cfg', "'BNN'", 'registered'),
    ('model.backbone.norm_cfg.epss=1', "'epss'", "mean 'eps'?"),
    ('model.backbone.conv_cfg.type=Conv9d', 'conv_cfg', "'Conv9d'"),
    ('model.backbone.base_channels=-8', 'a positive integer', 'got -8'),
    ('model.backbone.in_channels=0', 'a positive integer', 'got 0'),
    ('model.backbone.with_cp=yes', "'yes'", 'True or False'),
    ('model.backbone.init_cfg=5', 'init_cfg', 'a dict', 'got 5'),
    ('model.backbone.init_cfg.type=Pretraine', "'Pretraine'"),
    ('model.backbone.dcn.type=DCN', "'dcn'", 'depth, step, step_blocks'),
    ('model.backbone.plugins=[]', "'plugins'", 'depth, step, step_blocks'),
    ('model.backbone.stepp=1', "'stepp'", "mean 'step'?", 'step_blocks'),
    ('model.backbone.type=mmstepnet.ResNett', "'mmstepnet.ResNett'",
     "mean 'ResNet'?"),
    ('model.type=FasterRCN', "'FasterRCN'", "mean 'FasterRCNN'?"),
    ('model.data_preprocessor.std=[0,0,0]', 'model.data_preprocessor.std',
     'positive numbers', 'got [0, 0, 0]'),
    ('model=3', 'model of the config', 'a dict', 'got 3'),
    ('model.neck.in_chanels=1', "'in_chanels'", "mean 'in_channels'?"),
    ('model.neck.in_channels=[8]', 'FPN'),
    ('model.roi_head.bbox_head.num_classes=3', 'num_classes is 3', '2 names'),
    ('train_dataloader.dataset.metainfo.classes=[square]', "['square']",
     'num_classes is 2'),
    ("classes=('square','bar','disc')", "'classes'",
     'train_dataloader.dataset.metainfo.classes'),
    ('classes=square', "'classes'", 'metainfo.classes'),
    ('modell.type=X', "'modell'", "mean 'model'?"),
    ('optim_wraper.optimizer.lr=1', "'optim_wraper'", "'optim_wrapper'?"),
    ('optim_wrapper.optimizer.type=SGDD', "'SGDD'", "mean 'SGD'?"),
    ('optim_wrapper.optimizer.lrr=1', "'lrr'", "mean 'lr'?"),
    ('optim_wrapper.optimizer.lr=-1', 'a non-negative number', 'got -1'),
    ('optim_wrapper=None', 'optim_wrapper of the config', 'got None'),
    ('param_scheduler.0.type=LinearLRR', "'LinearLRR'", "mean 'LinearLR'?"),
    ('param_scheduler.7.type=LinearLR', 'param_scheduler.7', 'Index 7'),
    ('train_dataloader.batch_size=0', 'batch_size', 'positive'),
    ('train_dataloader.batch_size=two', 'batch_size', 'positive'),
    ('train_dataloader.num_workers=-1', 'a non-negative integer', 'got -1'),
    ('train_dataloader.dataset.type=CocoDatset', "mean 'CocoDataset'?"),
    ('train_dataloader.dataset.ann_fil=a', "'ann_fil'", "mean 'ann_file'?"),
    ('train_dataloader.dataset.pipeline.0.type=LoadImage', "'LoadImage'"),
    ('train_dataloader.dataset.ann_file=none.json', 'none.json',
     'train_dataloader.dataset.ann_file'),
    ('train_cfg.max_epochs=two', 'max_epochs', "'two'"),
    ('train_cfg.max_epoch=2', "'max_epoch'", "mean 'max_epochs'?"),
    ('val_evaluator.type=CocoMetrik', "'CocoMetrik'", "mean 'CocoMetric'?"),
    ('default_hooks.logger.intervall=1', "'intervall'", "mean 'interval'?"),
    ('custom_hooks=[hook]', 'custom_hooks', 'a list of dicts', "got ['hook'"),
    ('randomness.seed=a', 'seed', "'a'"),
    ('load_from=none.pth', 'load_from', "'none.pth'"),
    ('load_from=detector.py', 'load_from', 'no PyTorch checkpoint'),
    ('model.backbone.depth.x=1', 'depth', 'does not fit the config'),
    ('model.backbone.depth=19 train_dataloader.dataset.ann_file=none.json',
     'depth must be one of', 'got 19'),
    ('model.backbone.depth', 'KEY=VALUE', "'model.backbone.depth'"),
    ('=3', 'KEY=VALUE', "'=3'"),
)

# Config files: name, content, and what the sentence has to say.
FILES = (
    ('empty.py', '', "'empty.py' is empty", 'expected settings'),
    ('syntax.py', 'model = dict(\n', "'syntax.py'", 'SyntaxError', 'line 1'),
    ('unknown_name.py', 'a = 1\nb = c\n', 'line 2', "'c' is not defined"),
    ('division.py', 'a = 1\n\nb = a / 0\n', 'line 3', 'ZeroDivisionError'),
    ('self.py', "_base_ = './self.py'\n", 'self.py', 'include itself'),
    ('a.py', "_base_ = ['./b.py']\n", "a.py' -> ", "b.py' -> "),
    ('no_base.py', "_base_ = './none.py'\n", 'none.py', 'No such file'),
    ('no_stock.py', "_base_ = 'mmdet::none/none.py'\n", 'none/none.py'),
    ('no_library.py', "_base_ = 'nolib::a/a.py'\n", 'nolib'),
    ('number_base.py', '_base_ = 3\n', "'number_base.py'"),
    ('twice.py', "_base_ = ['./first.py', './second.py']\n", "'twice.py'",
     'Duplicate key', "{'size'}"),
    ('list_base.py', "_base_ = './first.py'\nsize = dict(a=1)\n",
     "'list_base.py'", 'size'),
    ('no_import.py', "custom_imports = dict(imports=['nomodule'])\nmodel = 1",
     "'no_import.py'", 'nomodule'),
    ('no_model.py', "work_dir = 'runs/x'\n", 'model of the config', 'a dict'),
    ('model_list.py', 'model = [1]\n', 'model of the config', 'got [1]'),
    ('no_data.py', "model = dict(type='ResNet')\n", 'train_dataloader'),
    ('text.txt', 'model = dict()\n', "got 'text.txt'", "'.py'"),
    ('no_suffix', 'model = dict()\n', "got 'no_suffix'", "'.yaml'"),
    ('broken.yaml', 'model: [1, 2\n', "'broken.yaml'", 'cannot be read'),
    ('broken.json', '{"model": ', "'broken.json'", 'cannot be read'),
    ('list.json', '[1, 2]', "'list.json'", 'cannot be read'),
    ('binary.py', b'\x80\x02\x00model', "'binary.py'", 'cannot be read'),
    ('null.py', b'model = 1\x00', "'null.py'", 'cannot be read'),
)
BASES = {
    'b.py': "_base_ = './a.py'\n",
    'first.py': 'size = 1\n',
    'second.py': 'size = 2\n'
}


def train(*args: str):
    return tool('train', *args, '--work-dir', 'runs/train')


def train_file(name: str, content) -> callable:

    def run(root: Path) -> Outcome:
        for path, text in {**BASES, name: content}.items():
            text = text if isinstance(text, bytes) else text.encode()
            (root / path).write_bytes(text)
        return train(name)(root)

    return run


def cases() -> Iterator[Case]:
    for option, *words in OPTIONS:
        yield Case('configs', option,
                   train('detector.py', '--cfg-options', *option.split(' ')),
                   tuple(words))
    for name, content, *words in FILES:
        yield Case('configs', name, train_file(name, content), tuple(words))
    yield Case('configs', 'missing file', train('none.py'),
               ("no config file 'none.py' in", ))
    yield Case('configs', 'missing file, absolute', train('/none/a.py'),
               ("no config file '/none/a.py' (", ))
    yield Case('configs', 'a folder', train('data'), ("file 'data' in", ))
