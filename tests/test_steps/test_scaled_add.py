# Copyright (c) mmstepnet contributors. All rights reserved.
"""The fused path of a block against the literal formula."""
import copy

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from mmstepnet.backbones import BasicBlock, CIFARResNet
from mmstepnet.steps import available_steps
from mmstepnet.steps.scaled_add import _ScaledAdd, norm_source

TOP_HOOKS = '_top_saved_tensors_default_hooks'
has_fused_path = pytest.mark.skipif(
    not hasattr(torch._C._autograd, TOP_HOOKS),
    reason='this PyTorch does not tell what changes how tensors are kept')


def literal(block, x):
    """The block by its formula, every map materialized."""
    residual = block.residual(x)
    step = block.step
    size = step.step_size(residual, x).to(residual.dtype)
    return torch.relu(x + step.derivative(residual, x) * size)


def make_block(step, dtype=torch.float64, **kwargs):
    torch.manual_seed(0)
    block = BasicBlock(64, 64, step=step, **kwargs).to(dtype)
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=.3)
    return block


def images(dtype=torch.float64, memory_format=torch.contiguous_format):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(4, 64, 5, 6, generator=generator, dtype=dtype)
    return x.to(memory_format=memory_format).requires_grad_()


def gradients(forward, block, x):
    """Output and gradients of everything that has one."""
    tensors = [x, *block.parameters()]
    out = forward(x)
    weights = torch.linspace(-1, 1, out.numel(), dtype=x.dtype)
    loss = (out * weights.view_as(out)).sum()
    return out, *torch.autograd.grad(loss, tensors)


def relative_error(got, expected):
    return max(
        float((a - b).abs().max() / b.abs().max().clamp_min(1e-12))
        for a, b in zip(got, expected))


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('with_cp', [True, False])
@pytest.mark.parametrize('step', available_steps())
def test_gradients_are_those_of_the_formula(step, with_cp, training):
    block = make_block(step, with_cp=with_cp).train(training)
    reference = copy.deepcopy(block)
    x = images()
    expected = gradients(lambda x: literal(reference, x), reference, x)
    assert relative_error(gradients(block, block, x), expected) <= 1e-6
    # checkpointing runs the norms twice
    assert with_cp or all(
        a.equal(b) for a, b in zip(block.buffers(), reference.buffers()))


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('memory_format',
                         [torch.contiguous_format, torch.channels_last])
def test_gradients_in_any_layout(memory_format, training):
    block = make_block('StepNet').train(training)
    reference = copy.deepcopy(block)
    expected = gradients(lambda x: literal(reference, x), reference, images())
    got = gradients(block, block, images(memory_format=memory_format))
    assert relative_error(got, expected) <= 1e-6


def test_gradients_of_gradients():
    block = make_block('StepNet')
    reference = copy.deepcopy(block)

    def of_gradients(forward, block):
        x = images()
        tensors = [x, *block.parameters()]
        first = torch.autograd.grad(
            forward(x).sin().sum(), tensors, create_graph=True)
        return torch.autograd.grad(
            sum(g.square().sum() for g in first), tensors)

    expected = of_gradients(lambda x: literal(reference, x), reference)
    assert relative_error(of_gradients(block, block), expected) <= 1e-6


@pytest.mark.parametrize('freeze', ['weight', 'bias', 'both'])
def test_gradients_with_a_frozen_norm(freeze):
    block = make_block('SE').train()
    for name in ('weight', 'bias') if freeze == 'both' else (freeze, ):
        getattr(block.last_norm, name).requires_grad_(False)
    reference = copy.deepcopy(block)
    results = []
    for forward, model in ((block, block), (lambda x: literal(reference, x),
                                            reference)):
        x = images()
        forward(x).sin().sum().backward()
        results.append([x.grad] +
                       [p.grad for p in model.parameters() if p.requires_grad])
    assert relative_error(*results) <= 1e-6


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
def test_gradients_in_mixed_precision(dtype):
    """Of a state in float32, as behind a stem, and in bfloat16."""
    block = make_block('StepNet', torch.float32).train()
    reference = copy.deepcopy(block)
    # Rounded, since each PyTorch draws other numbers in bfloat16.
    x = images(torch.float32).detach().to(dtype)
    exact = gradients(lambda x: literal(reference, x), reference,
                      x.float().requires_grad_())
    with torch.autocast('cpu', torch.bfloat16):
        got = gradients(block, block, x.clone().requires_grad_())
    for a, b in zip(got, exact):
        assert (a - b).norm() <= .05 * b.norm()


def uses_fused_path(forward, x):
    calls = []
    handle = _ScaledAdd.apply
    _ScaledAdd.apply = lambda *args: calls.append(1) or handle(*args)
    try:
        forward(x)
    finally:
        del _ScaledAdd.apply
    return bool(calls)


@has_fused_path
def test_when_the_fused_path_is_taken():
    block = make_block('StepNet')
    assert uses_fused_path(block, images())
    with torch.no_grad():
        assert not uses_fused_path(block, images())
    assert not uses_fused_path(
        lambda x: checkpoint(block, x, use_reentrant=False), images())
    assert not uses_fused_path(lambda x: block.step(x * 2, x), images())
    assert not uses_fused_path(make_block('SGE'), images())
    group_norm = make_block('SE', norm_cfg=dict(type='GN', num_groups=4))
    assert not uses_fused_path(group_norm, images())


def test_no_fused_path_in_an_old_pytorch(monkeypatch):
    monkeypatch.delattr(torch._C._autograd, TOP_HOOKS, raising=False)
    assert not uses_fused_path(make_block('StepNet'), images())


def test_norm_without_parameters_is_not_a_source():
    norm = nn.BatchNorm2d(64, affine=False).double()
    assert norm_source(norm(images())) is None


def peak_memory(model, x):
    """Bytes that a training step holds at most, beside the parameters."""
    model(x)[-1].sum().backward()
    model.zero_grad(set_to_none=True)
    with profile(
            activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        model(x)[-1].sum().backward()
    now = peak = 0
    events = prof.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == '[memory]'),
                        key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


@has_fused_path
def test_training_holds_no_more_maps_than_a_plain_network():
    x = torch.rand(8, 3, 32, 32)
    plain, stepnet = (
        peak_memory(CIFARResNet(20, block='basic', step=step), x)
        for step in (None, 'StepNet'))
    assert stepnet <= 1.02 * plain


def per_sample(block, x):
    """Gradients of every image's loss by ``torch.func``."""
    names = dict(block.named_parameters())

    def loss(parameters, image):
        out = torch.func.functional_call(block, parameters, (image[None], ))
        return out.square().sum()

    return torch.func.vmap(torch.func.grad(loss), (None, 0))(names, x)


def test_function_transforms():
    block = make_block('SE').eval()
    x = images().detach()
    got = per_sample(block, x)
    for i, image in enumerate(x):
        block(image[None]).square().sum().backward()
        for name, parameter in block.named_parameters():
            torch.testing.assert_close(got[name][i], parameter.grad)
            parameter.grad = None


def test_forward_mode():
    block = make_block('StepNet').eval()
    x, tangent = images().detach(), torch.ones(4, 64, 5, 6).double()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        got = torch.autograd.forward_ad.unpack_dual(block(dual)).tangent
    eps = 1e-6
    expected = (block(x + eps * tangent) - block(x - eps * tangent)) / 2 / eps
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)


def test_a_residual_that_a_hook_writes_to():
    block, x = make_block('SE').train(), images()

    def double(module, args, out):
        with torch.no_grad():
            out.mul_(2)

    block.last_norm.register_forward_hook(double)
    reference = copy.deepcopy(block)
    expected = gradients(lambda x: literal(reference, x), reference, x)
    assert relative_error(gradients(block, block, x), expected) < 1e-6


def test_a_residual_whose_graph_is_gone():
    block, x = make_block('SE').train(), images()
    residual = block.residual(x)
    residual.sum().backward()
    state = block.step(residual, x)
    expected = x + residual * block.step.step_size(residual, x)
    torch.testing.assert_close(state, expected)


def test_a_residual_for_all_images():
    block, x = make_block('SE').train(), images()
    residual = block.last_norm(x[:1])
    state = block.step(residual, x)
    state.sum().backward()
    assert state.shape == x.shape and x.grad.isfinite().all()


@torch.no_grad()
@pytest.mark.parametrize('step', [None, 'StepNet', 'SE'])
def test_what_a_hook_keeps_stays_as_it_was(step):
    block, x = make_block(step).eval(), images().detach()
    kept = []
    block.last_norm.register_forward_hook(
        lambda module, args, out: kept.append(out))
    block(x)
    torch.testing.assert_close(kept[0], block.residual(x), rtol=0, atol=0)
