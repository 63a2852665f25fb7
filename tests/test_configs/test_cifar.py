# Copyright (c) mmstepnet contributors. All rights reserved.
"""The rows of the paper's tables 1, 2 and 4 as configs."""
import os
from pathlib import Path

import pytest
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DATASETS, DefaultScope
from repo_configs import REPO, build, count, load

pytestmark = pytest.mark.mmpretrain

BASE = {'cifar10': 1_704_154, 'cifar100': 1_727_284, 'stl10': 1_704_154}
#: Parameters added to ResNet-164, and the printed #P(M) of CIFAR-10 and -100.
ROWS = dict(
    plain=(0, '1.70', '1.73'),
    se=(202_104, '1.91', '1.93'),
    cbam=(216_792, '1.92', '1.94'),
    eca=(234, '1.70', '1.73'),
    sem=(242_820, '1.95', '1.97'),
    srm=(32_256, '1.74', '1.76'),
    fca=(202_104, '1.91', '1.93'),
    iebn=(24_224, '1.73', '1.75'),
    stepnet=(45_696, '1.75', '1.77'))
DATA = Path(os.environ.get('MMSTEPNET_TEST_DATA', REPO / '../shared/data'))


def config(data, row, network='resnet164', batch='1xb128'):
    return load(f'{data}/{network}_{row}_{batch}_{data}.py'.replace(
        '_cifar10_mini.py', '_cifar10-mini.py'))


@pytest.mark.parametrize('data', BASE)
@pytest.mark.parametrize('row', ROWS)
def test_table_1(data, row):
    cfg = config(data, row)
    added, *printed = ROWS[row]
    parameters = count(build(cfg.model, cfg.default_scope))
    assert parameters == BASE[data] + added
    assert f'{parameters / 1e6:.2f}' == printed[data == 'cifar100']
    assert cfg.train_dataloader.batch_size == 128
    assert cfg.train_cfg.max_epochs == 164
    assert cfg.param_scheduler.milestones == [81, 122]
    assert cfg.param_scheduler.gamma == 0.1
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.lr, optimizer.weight_decay) == (0.1, 1e-4)
    crop = next(t for t in cfg.train_dataloader.dataset.pipeline
                if t.type == 'RandomCrop')
    assert (crop.crop_size, crop.padding) == \
        ((96, 12) if data == 'stl10' else (32, 4))
    assert cfg.model.head.num_classes == (100 if data == 'cifar100' else 10)


@pytest.mark.parametrize('depth, added', [
    (50, dict(cbam=2_532_592, srm=60_416, fca=2_514_944)),
    (34, {}),
])
@pytest.mark.parametrize('row', ['cbam', 'srm', 'fca'])
def test_table_2(depth, added, row):
    cfg = load(f'imagenet/resnet{depth}_{row}_8xb32_in1k.py')
    plain = load(f'imagenet/resnet{depth}_plain_8xb32_in1k.py')
    model = build(cfg.model, 'mmpretrain')
    more = count(model) - count(build(plain.model, 'mmpretrain'))
    widths = [(3, 64), (4, 128), (6, 256), (3, 512)]
    by_hand = dict(
        # two layers of C^2 / 16 with or without biases, 7x7x2 and a norm
        cbam=sum(n * (c * c // 8 + c + c // 16 + 100) for n, c in widths),
        srm=sum(n * 4 * c for n, c in widths),
        fca=sum(n * c * c // 8 for n, c in widths))
    assert more == added.get(row, by_hand[row])
    if row == 'fca':
        sizes = [
            getattr(model.backbone, f'layer{i}')[0].step.size
            for i in range(1, 5)
        ]
        assert sizes == [56, 28, 14, 7]


@pytest.mark.parametrize('data', ['cifar10', 'cifar100'])
@pytest.mark.parametrize('inputs', ['current', 'next', 'difference'])
def test_table_4(data, inputs):
    model = build(config(data, f'stepnet-{inputs}').model, 'mmpretrain')
    steps = [block.step for block in model.backbone.blocks()]
    assert {getattr(step, 'inputs', inputs) for step in steps} == {inputs}
    assert count(model) == BASE[data] + 45_696 * 5 // 6


@pytest.mark.parametrize('name', [
    'cifar10/resnet164_srm_1xb128_cifar10.py',
    'imagenet/resnet50_srm_8xb32_in1k.py',
    'cifar10_mini/resnet20-basic_srm_1xb64_cifar10-mini.py'
])
def test_no_weight_decay_on_srm(name):
    cfg = load(name)
    model = build(cfg.model, 'mmpretrain')
    decays = {
        id(parameter): group['weight_decay']
        for group in build_optim_wrapper(model, cfg.optim_wrapper).param_groups
        for parameter in group['params']
    }
    for name, parameter in model.named_parameters():
        assert decays[id(parameter)] == (0. if '.step.' in name else 1e-4)


@pytest.mark.parametrize('data', ['cifar10', 'cifar100'])
def test_few_blocks(data):
    model = build(config(data, 'se-few').model, 'mmpretrain')
    placed = [type(b.step).__name__ == 'SE' for b in model.backbone.blocks()]
    assert placed == [i % 6 == 0 for i in range(18)] * 3
    assert count(model) == BASE[data] + 202_104 // 6


@pytest.mark.parametrize('data, classes', [('cifar10', 10), ('cifar100', 100)])
def test_vit(data, classes):
    counts = {}
    for row in ('plain', 'stepnet'):
        model = build(config(data, row, 'vit').model, 'mmpretrain')
        counts[row] = count(model) - 257 * classes
    assert counts == dict(plain=3_719_168, stepnet=2_808_832)


@pytest.mark.parametrize('row', ROWS)
def test_mini_rows_differ_in_size_and_data_only(row):
    mini = config('cifar10_mini', row, 'resnet20-basic', '1xb64')
    paper = config('cifar10', row)
    assert mini.model.backbone.pop('depth') == 20
    assert mini.model.backbone.pop('block') == 'basic'
    assert mini.model.backbone.pop('shortcut') == 'pad'
    assert mini.model.head.pop('in_channels') == 64
    assert paper.model.backbone.pop('depth') == 164
    assert paper.model.head.pop('in_channels') == 256
    assert mini.model.to_dict() == paper.model.to_dict()


@pytest.mark.skipif(not DATA.is_dir(), reason=f'no test data at {DATA}')
def test_plain_folders():
    cfg = config('cifar10_mini', 'stepnet', 'resnet20-basic', '1xb64')
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        for loader, size in ((cfg.train_dataloader, 5000), (cfg.val_dataloader,
                                                            2000)):
            loader.dataset.data_root = str(DATA / 'cifar10_mini')
            dataset = DATASETS.build(loader.dataset)
            assert len(dataset) == size
            assert dataset.CLASSES[:2] == ('airplane', 'automobile')
            item = dataset[size - 1]
            assert item['inputs'].shape == (3, 32, 32)
            assert item['data_samples'].gt_label.tolist() == [9]
