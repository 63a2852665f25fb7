# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.registry import MODELS, DefaultScope

from mmstepnet.backbones import CIFARResNet, ResNet
from mmstepnet.backbones.resnet_cifar import PadShortcut
from mmstepnet.steps import StepNet, Unit, available_steps

IEBN = dict(
    norm_cfg=dict(type='mmstepnet.IEBN'), downsample_norm_cfg=dict(type='BN'))
# parameters that a module adds to ResNet-164, and the paper's #P(M) for 10
# and for 100 classes
PAPER = {
    'Org': ({}, 0, '1.70', '1.73'),
    'SE': (dict(step='SE'), 202_104, '1.91', '1.93'),
    'CBAM':
    (dict(step=dict(type='CBAM', min_width=8)), 216_792, '1.92', '1.94'),
    'ECA': (dict(step='ECA'), 234, '1.70', '1.73'),
    'SEM': (dict(step='SEM'), 242_820, '1.95', '1.97'),
    'SRM': (dict(step='SRM'), 32_256, '1.74', '1.76'),
    'FCA': (dict(step=dict(type='FCA', bias=True)), 202_104, '1.91', '1.93'),
    'IEBN': (IEBN, 24_224, '1.73', '1.75'),
    'StepNet': (dict(step='StepNet'), 45_696, '1.75', '1.77'),
}


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize('row', PAPER)
def test_parameters_of_the_paper(row):
    options, added, *printed = PAPER[row]
    with torch.device('meta'):
        backbone = count(CIFARResNet(164, **options))
    for classes, base, millions in zip((10, 100), (1_704_154, 1_727_284),
                                       printed):
        total = backbone + 256 * classes + classes
        assert total == base + added
        assert f'{total / 1e6:.2f}' == millions


def test_other_counts():
    with torch.device('meta'):
        official = count(CIFARResNet(164, step='CBAM')) + 2570
        assert official == 1_704_154 + 207_504
        everywhere = count(
            CIFARResNet(164, step='StepNet', step_at_shape_change=True))
        assert f'{(everywhere + 2570) / 1e6:.4f}' == '1.7525'
        assert f'{(everywhere + 25700) / 1e6:.4f}' == '1.7757'


@pytest.mark.parametrize('name, options, added', [
    ('CBAM', dict(step='CBAM'), 2_532_592),
    ('SRM', dict(step='SRM'), 60_416),
    ('FCA', dict(step='FCA'), 2_514_944),
    ('IEBN', IEBN, 45_440),
])
def test_counts_of_resnet50(name, options, added):
    with torch.device('meta'):
        assert count(ResNet(50, **options)) - count(ResNet(50)) == added


@pytest.mark.parametrize('depth, block, n',
                         [(29, 'bottleneck', 3), (83, 'bottleneck', 9),
                          (110, 'bottleneck', 12), (164, 'bottleneck', 18),
                          (20, 'basic', 3), (32, 'basic', 5), (44, 'basic', 7),
                          (56, 'basic', 9), (110, 'basic', 18)])
def test_blocks_of_a_depth(depth, block, n):
    with torch.device('meta'):
        model = CIFARResNet(depth, block=block)
    assert [len(getattr(model, name)) for name in model.res_layers] == [n] * 3
    changing = [b.downsample is not None for b in model.blocks()]
    first = block == 'bottleneck'
    assert changing == ([first] + [False] * (n - 1) + ([True] + [False] *
                                                       (n - 1)) * 2)
    convs = [m for m in model.modules() if isinstance(m, torch.nn.Conv2d)]
    # with the linear layer of the head, without the shortcuts
    assert len(convs) - sum(changing) + 1 == depth


def test_pad_shortcut():
    x = torch.randn(2, 4, 5, 6)
    out = PadShortcut(4, 9, 2)(x)
    assert out.shape == (2, 9, 3, 3)
    assert torch.equal(out[:, 2:6], x[:, :, ::2, ::2])
    assert out[:, :2].eq(0).all() and out[:, 6:].eq(0).all()
    assert not list(PadShortcut(4, 9, 2).parameters())


@pytest.mark.parametrize('step', available_steps())
@pytest.mark.parametrize('block', ['basic', 'bottleneck'])
@pytest.mark.parametrize('shortcut', ['conv', 'pad'])
def test_every_step_in_both_blocks(step, block, shortcut):
    cfg = dict(type=step)
    if step == 'SGE':
        cfg.update(groups=16)
    model = CIFARResNet(
        {
            'basic': 14,
            'bottleneck': 11
        }[block],
        block=block,
        shortcut=shortcut,
        step=cfg,
        base_channels=16,
        out_indices=(0, 1, 2))
    with torch.no_grad():
        for b in model.blocks():
            for parameter in b.step.parameters():
                parameter.uniform_(0.05, 0.3)
    outs = model(torch.randn(3, 3, 16, 16))
    expansion = {'basic': 1, 'bottleneck': 4}[block]
    assert [tuple(out.shape[1:]) for out in outs] == [(16 * expansion, 16, 16),
                                                      (32 * expansion, 8, 8),
                                                      (64 * expansion, 4, 4)]
    sum(out.square().mean() for out in outs).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_where_to_step():
    model = CIFARResNet(29, step='StepNet', step_blocks=((2, ), (), (1, 2)))
    kinds = [type(b.step) for b in model.blocks()]
    assert kinds == [Unit, Unit, StepNet] + [Unit] * 3 + \
        [Unit, StepNet, StepNet]
    # 6 parameters for each of 64 + 2 * 256 channels
    assert count(model) - count(CIFARResNet(29)) == 6 * (64 + 2 * 256)
    model = CIFARResNet(29, step=[None, 'SE', None])
    assert [type(b.step).__name__ for b in model.blocks()] == \
        ['Unit'] * 3 + ['SE'] * 3 + ['Unit'] * 3


@pytest.mark.smoke
@pytest.mark.mmpretrain
def test_in_a_classifier_of_mmpretrain():
    pytest.importorskip('mmpretrain')
    with DefaultScope.overwrite_default_scope('mmpretrain'):
        model = MODELS.build(
            dict(
                type='mmpretrain.ImageClassifier',
                backbone=dict(
                    type='mmstepnet.CIFARResNet',
                    depth=164,
                    step=dict(type='mmstepnet.StepNet')),
                neck=dict(type='GlobalAveragePooling'),
                head=dict(
                    type='LinearClsHead', num_classes=100, in_channels=256)))
    assert model(torch.rand(2, 3, 8, 8), mode='tensor').shape == (2, 100)
    assert count(model) == 1_727_284 + 45_696


@pytest.mark.parametrize(
    'kwargs, message',
    [(dict(depth=30), r'bottleneck blocks must be 9n \+ 2, got 30'),
     (dict(depth=2), r'must be 9n \+ 2, got 2'),
     (dict(depth=164.), 'depth of CIFARResNet .* an integer, got 164.0'),
     (dict(depth=29, block='basic'), r'basic blocks must be 6n \+ 2, got 29'),
     (dict(depth=20, block='wide'),
      r"block must be one of \['basic', 'bottleneck'\], got 'wide'"),
     (dict(depth=29,
           shortcut='A'), "shortcut must be 'conv' or 'pad', got 'A'"),
     (dict(depth=29, strides=(1, 2)), 'strides must have one entry for each'),
     (dict(depth=29, out_indices=(3, )), 'out_indices must be from 0 to 2'),
     (dict(depth=29, frozen_stages=4), 'frozen_stages must be from -1 to 3'),
     (dict(depth=29, step='SE', step_blocks=(None, (3, ), None)),
      r'step_blocks of stage 2 must be from 0 to 2, got \[3\]'),
     (dict(depth=20, block='basic', step=dict(type='SE', ratio=32)),
      'ratio must be an integer from 1 to in_channels=16, got 32'),
     (dict(depth=20, block='basic',
           step='SGE'), 'groups must divide in_channels=16, got 64')])
def test_wrong_settings_get_a_sentence(kwargs, message):
    with pytest.raises((TypeError, ValueError), match=message) as info:
        CIFARResNet(**kwargs)
    assert '\n' not in str(info.value)


def train_in_parallel(rank, world_size, options):
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(
        CIFARResNet(11, **options))
    torch.manual_seed(rank)
    for _ in range(2):  # an unused parameter fails in the second pass
        model.zero_grad()
        out = model(torch.randn(3, 3, 8, 8))[0]
        out.square().mean().backward()
    return out.sum().item(), [(name, p.grad.double().norm().item())
                              for name, p in model.module.named_parameters()]


@pytest.mark.ddp
@pytest.mark.parametrize('step', [*available_steps(), 'IEBN'])
def test_trains_in_parallel_without_unused_parameters(gloo_pool, step):
    options = IEBN if step == 'IEBN' else dict(step=step)
    (out0, grads0), (out1, grads1) = gloo_pool.run(train_in_parallel, options)
    assert out0 != out1  # other images
    assert grads0 == grads1 and len(grads0) >= 36
