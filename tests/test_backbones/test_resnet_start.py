# Copyright (c) mmstepnet contributors. All rights reserved.
"""How a ResNet starts: initialization, frozen stages, checkpoints."""
import warnings

import pytest
import torch
from tiny_resnet import images, tiny, wake_steps
from torch.nn.modules.batchnorm import _BatchNorm


@pytest.mark.parametrize('depth', [18, 50])
@pytest.mark.parametrize('zero', [True, False])
def test_zero_initialization_of_the_last_norm(depth, zero, step):
    model = tiny(depth, step=step, zero_init_residual=zero)
    model.init_weights()
    for block in model.blocks():
        last = block.bn3 if depth == 50 else block.bn2
        assert last.weight.eq(0 if zero else 1).all()
        assert block.bn1.weight.eq(1).all()


def test_zero_initialization_makes_blocks_the_identity(step):
    model = tiny(step=step).eval()
    model.init_weights()
    x = torch.rand(2, 64, 8, 8)
    assert torch.equal(model.layer1[1](x), x)


@pytest.mark.parametrize('frozen_stages', [-1, 0, 1, 2])
@pytest.mark.parametrize('freeze_steps', [True, False])
@pytest.mark.parametrize('norm_eval', [True, False])
def test_frozen_stages(frozen_stages, freeze_steps, norm_eval):
    model = tiny(
        step='SE',
        norm_cfg=dict(type='BN'),
        frozen_stages=frozen_stages,
        freeze_steps=freeze_steps,
        norm_eval=norm_eval)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model.train(False).train(True)
    for name, module in model.named_modules():
        stage = int(name[5]) if name.startswith('layer') else 0
        frozen = stage <= frozen_stages
        if '.step' in name:
            frozen = frozen and freeze_steps
        for parameter in module.parameters(recurse=False):
            assert parameter.requires_grad is not frozen, name
        if isinstance(module, _BatchNorm):
            assert module.training is not (frozen or norm_eval), name


def test_norm_eval_reaches_the_norms_of_steps():
    model = tiny(step='StepNet', norm_eval=True).train()
    assert not model.layer1[1].step.norm.training
    model = tiny(step='StepNet').train()
    assert model.layer1[1].step.norm.training
    assert not model.eval().layer1[1].step.norm.training


def test_steps_of_frozen_stages_learn():
    model = wake_steps(tiny(step='StepNet', frozen_stages=2))
    model.train()
    sum(out.mean() for out in model(images(4))).backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is not None) == ('.step.' in name), name


@pytest.mark.parametrize('step, warned', [('SE', True), (None, False)])
def test_freezing_random_steps_warns(step, warned):
    model = tiny(step=step, frozen_stages=1, freeze_steps=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model.train()
    assert any('freezes steps that no loaded' in str(w.message)
               for w in caught) is warned
    model.load_state_dict(tiny(step=step).state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model.train()


def test_partly_loaded_step_still_warns():
    model = tiny(step='SE', frozen_stages=1, freeze_steps=True)
    state = tiny(step='SE').state_dict()
    del state['layer1.0.step.excite.fc1.bias']
    model.load_state_dict(state, strict=False)
    with pytest.warns(UserWarning, match='freezes steps'):
        model.train()


def test_pretrained_checkpoint_of_something_else(tmp_path):
    file = tmp_path / 'detector.pth'
    plain = tiny().state_dict()
    torch.save({f'backbone.{k}': v for k, v in plain.items()}, file)
    model = tiny(init_cfg=dict(type='Pretrained', checkpoint=str(file)))
    with pytest.raises(
            ValueError,
            match='has no key of this backbone: expect'
            "ed names like 'conv1.weight', got .*backbone.conv1.we"
            "ight.*needs prefix='backbone.'"):
        model.init_weights()
    model = tiny(
        step='SE',
        init_cfg=dict(
            type='Pretrained', checkpoint=str(file), prefix='backbone.'))
    model.init_weights()
    assert torch.equal(model.conv1.weight, plain['conv1.weight'])


def test_pretrained_checkpoint_of_a_deeper_network(tmp_path, monkeypatch):
    plain = tiny().state_dict()
    plain['layer1.9.conv1.weight'] = plain['conv1.weight']
    plain['bn1.weight'] = torch.ones(3)
    del plain['bn1.bias']
    file = str(tmp_path / 'deeper.pth')
    torch.save(plain, file)
    said = []
    monkeypatch.setattr('mmengine.runner.checkpoint.print_log',
                        lambda text, *args, **kwargs: said.append(text))
    model = tiny(init_cfg=dict(type='Pretrained', checkpoint=file))
    model.init_weights()
    assert torch.equal(model.conv1.weight, plain['conv1.weight'])
    for name in ('layer1.9.conv1.weight', 'bn1.weight', 'bn1.bias'):
        assert name in ''.join(said)
