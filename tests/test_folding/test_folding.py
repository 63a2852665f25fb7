# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch

from mmstepnet.backbones import (CIFARResNet, PreActCIFARResNet, ResNet,
                                 VisionTransformer)
from mmstepnet.folding import fold_steps
from mmstepnet.steps import StepNet, Unit, available_steps

IMAGES = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
GATES = ['SE', 'IE', 'SRM', 'ECA', 'StepNet']


@torch.no_grad()
def trained(model):
    """The model as after training: nothing is as it was initialized."""
    generator = torch.Generator().manual_seed(0)
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            noise = torch.rand(tensor.shape, generator=generator)
            if name.endswith('running_var'):
                tensor.copy_(.5 + noise)
            else:
                tensor.add_(.1 * (noise - .5))
    return model.eval()


@torch.no_grad()
def output(model):
    return model(IMAGES)[-1]


def assert_same(got, expected):
    assert (got - expected).abs().max() <= 1e-5 * expected.abs().max()


@pytest.mark.parametrize('gate', GATES)
@pytest.mark.parametrize(
    'make', [
        lambda step: CIFARResNet(29, step=step),
        lambda step: CIFARResNet(8, block='basic', shortcut='pad', step=step),
        lambda step: PreActCIFARResNet(8, block='basic', step=step),
        lambda step: ResNet(18, base_channels=16, step=step),
    ],
    ids=['bottleneck', 'basic', 'preact', 'imagenet'])
def test_a_plain_network_remains(make, gate):
    torch.manual_seed(0)
    model = trained(make(dict(type='mmstepnet.ASR', gate=gate)))
    expected = output(model)
    folded = fold_steps(model)
    assert len(folded) == len(list(model.blocks()))
    assert any(size.std() > 0 for size in folded.values())
    assert all(type(block.step) is Unit for block in model.blocks())
    assert_same(output(model), expected)

    plain = make(None)
    plain.load_state_dict(model.state_dict())
    assert_same(output(plain.eval()), expected)
    assert list(plain.state_dict()) == list(model.state_dict())


def test_a_step_of_zero_weight_folds():
    model = trained(CIFARResNet(29, step='StepNet'))
    for block in model.blocks():
        if isinstance(block.step, StepNet):
            torch.nn.init.zeros_(block.step.excite.weight)
    expected = output(model)
    assert len(fold_steps(model)) == 6
    assert_same(output(model), expected)


def test_norms_that_gate_their_input_take_it_too():
    model = trained(
        CIFARResNet(29, step='ASR', norm_cfg=dict(type='mmstepnet.IEBN')))
    expected = output(model)
    fold_steps(model)
    assert_same(output(model), expected)


def refused(model, message):
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(ValueError, match=message) as caught:
        fold_steps(model)
    assert '\n' not in str(caught.value)
    assert list(before) == list(model.state_dict())
    for name, value in model.state_dict().items():
        assert value.equal(before[name])


def test_training_mode_is_refused():
    refused(CIFARResNet(29, step='ASR').train(), 'in evaluation mode')
    model = CIFARResNet(29, step='ASR').eval()
    model.layer2.train()
    refused(model, 'in evaluation mode')


def test_folding_twice_is_refused():
    model = CIFARResNet(29, step='ASR').eval()
    fold_steps(model)
    refused(model, 'nothing to fold, or it has been folded already')
    refused(CIFARResNet(29).eval(), 'nothing to fold')


@pytest.mark.parametrize(
    'step',
    sorted({*available_steps()} - {'ASR', 'Unit'}) +
    [dict(type='InResNet', damping='gating', init_range=(0., 0.))])
def test_a_step_that_depends_on_its_input_is_refused(step):
    model = trained(ResNet(18, base_channels=64, step=step))
    name = step if isinstance(step, str) else step['type']
    refused(model, f'only a constant step size folds.*{name}')


def test_a_gate_that_a_single_probe_would_miss_is_refused():
    model = ResNet(18, step=dict(type='InResNet', damping='gating')).eval()
    for block in model.blocks():
        if not isinstance(block.step, Unit):
            block.step.weight.data.fill_(-0.1)
            block.step.lam.data.fill_(0.5)
    refused(model, 'only a constant step size folds.*InResNet')


def test_a_damping_close_to_zero_is_refused():
    model = ResNet(18, step=dict(type='InResNet')).eval()
    for block in model.blocks():
        if not isinstance(block.step, Unit):
            block.step.lam.data.fill_(1e-7)
    refused(model, 'only a constant step size folds.*InResNet')


def test_one_such_step_is_enough_to_refuse():
    refused(
        trained(CIFARResNet(29, step=['ASR', 'ASR', 'SE'])),
        'that of layer3.0 .SE.')


def test_blocks_without_a_layer_to_scale_are_refused():
    model = VisionTransformer(step='ASR').eval()
    refused(model, 'only a constant step size folds')


def test_norm_without_parameters_is_refused():
    model = CIFARResNet(
        29, step='ASR', norm_cfg=dict(type='BN', affine=False)).eval()
    refused(model, 'must have a weight and a bias')
