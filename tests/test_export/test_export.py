# Copyright (c) mmstepnet contributors. All rights reserved.
import sys

import pytest
import torch
from torch import nn

from mmstepnet.backbones import CIFARResNet, ResNet
from mmstepnet.export import ExportedNetwork, check_onnx, export_onnx
from mmstepnet.folding import fold_steps
from mmstepnet.registry import MODELS
from mmstepnet.steps import available_steps

pytestmark = [
    pytest.mark.filterwarnings(f'ignore::{category}')
    for category in ('DeprecationWarning', 'FutureWarning',
                     'torch.jit.TracerWarning')
]
SHAPES = [(2, 32, 32), (3, 48, 40)]


def network(step, make=None, channels=64):
    torch.manual_seed(0)
    make = make or (lambda: CIFARResNet(
        8, block='basic', base_channels=channels, step=step))
    model = make()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if '.step.' in name:
                parameter.add_(.3 * torch.rand_like(parameter))
    return model.eval()


def classifier(step):
    pytest.importorskip('mmpretrain')
    return MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            backbone=dict(
                type='mmstepnet.CIFARResNet',
                depth=8,
                block='basic',
                step=step),
            neck=dict(type='GlobalAveragePooling'),
            head=dict(type='LinearClsHead', num_classes=5, in_channels=64),
            _scope_='mmpretrain'))


def onnx_packages(*names):
    for name in ('onnx', 'onnxruntime', *names):
        pytest.importorskip(name)


@pytest.mark.parametrize('step', sorted(available_steps()))
def test_onnx_by_trace(step, tmp_path):
    onnx_packages()
    model = network(step)
    path = str(tmp_path / 'net.onnx')
    export_onnx(model, path, (32, 32), dynamo=False)
    assert max(check_onnx(model, path, SHAPES).values()) <= 1e-5


def dynamic_axis():
    if not hasattr(torch.export.Dim, 'DYNAMIC'):
        pytest.skip('torch.export knows no Dim.DYNAMIC before PyTorch 2.6')
    return torch.export.Dim.DYNAMIC


def test_an_old_pytorch_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.export, 'Dim', object())
    with pytest.raises(ValueError, match='from PyTorch 2.6 on, got .*--trace'):
        export_onnx(network('SE'), str(tmp_path / 'net.onnx'))


@pytest.mark.parametrize('missing, run', [
    ('onnx', lambda path: export_onnx(network('SE'), path, dynamo=False)),
    ('onnxscript', lambda path: export_onnx(network('SE'), path)),
    ('onnxruntime', lambda path: check_onnx(network('SE'), path, SHAPES)),
])
def test_a_missing_package_is_named(missing, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=f'pip install .*{missing}'):
        run(str(tmp_path / 'net.onnx'))


@pytest.mark.parametrize('fold', [False, True])
def test_onnx_by_export(fold, tmp_path):
    onnx_packages('onnxscript')
    dynamic_axis()
    model = network('ASR' if fold else 'StepNet', channels=16)
    if fold:
        fold_steps(model)
    path = str(tmp_path / 'net.onnx')
    export_onnx(model, path, (32, 32))
    assert max(check_onnx(model, path, SHAPES).values()) <= 1e-5


@pytest.mark.mmpretrain
def test_onnx_of_a_classifier(tmp_path):
    onnx_packages()
    model = network('StepNet', lambda: classifier('StepNet'))
    path = str(tmp_path / 'net.onnx')
    export_onnx(model, path, (32, 32), dynamo=False)
    check_onnx(model, path, SHAPES)
    logits, = ExportedNetwork(model)(torch.rand(2, 3, 32, 32))
    assert logits.shape == (2, 5)


def test_a_file_of_another_network_is_noticed(tmp_path):
    onnx_packages()
    path = str(tmp_path / 'net.onnx')
    export_onnx(network('StepNet'), path, (32, 32), dynamo=False)
    with pytest.raises(ValueError, match='differs from the model for 2 '):
        check_onnx(network(None), path, SHAPES)


def test_a_file_of_one_size_says_so(tmp_path):
    onnx_packages()
    model = network('StepNet')
    path = str(tmp_path / 'net.onnx')
    export_onnx(model, path, (32, 32), dynamic=False, dynamo=False)
    with pytest.raises(ValueError, match='fails for 3 images of 48x40') as e:
        check_onnx(model, path, SHAPES)
    assert '\n' not in str(e.value)


def test_training_mode_is_refused(tmp_path):
    with pytest.raises(ValueError, match='in evaluation mode'):
        export_onnx(network('SE').train(), str(tmp_path / 'net.onnx'))


def assert_same(got, expected):
    assert (got - expected).abs().max() <= 1e-5 * expected.abs().max()


@pytest.mark.parametrize('step', available_steps())
def test_torchscript(step, tmp_path):
    model = network(step)
    path = str(tmp_path / 'net.pt')
    with torch.no_grad():
        torch.jit.trace(model, torch.rand(2, 3, 32, 32)).save(path)
        traced = torch.jit.load(path)
        for batch, height, width in SHAPES:
            x = torch.rand(batch, 3, height, width)
            assert_same(traced(x)[0], model(x)[0])


@pytest.mark.parametrize('step', sorted(available_steps()))
def test_torch_export(step):
    model = network(step)
    axis = dynamic_axis()
    program = torch.export.export(
        model, (torch.rand(2, 3, 32, 32), ),
        dynamic_shapes=({
            0: axis,
            2: axis,
            3: axis
        }, ))
    exported = program.module()
    with torch.no_grad():
        for batch, height, width in SHAPES:
            x = torch.rand(batch, 3, height, width)
            assert_same(exported(x)[0], model(x)[0])


@pytest.mark.parametrize('training', [False, True])
def test_compiled_without_a_graph_break(training):
    """Captured whole; CUDA graphs need no more."""
    model = ResNet(18, step='StepNet', base_channels=8).train(training)
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    compiled = torch.compile(model, backend=backend, fullgraph=True)
    x = torch.rand(4, 3, 64, 64)
    assert_same(compiled(x)[-1], model(x)[-1])
    assert len(graphs) == 1


@pytest.mark.mmdet
def test_features_of_a_detector(tmp_path):
    pytest.importorskip('mmdet')
    onnx_packages()
    from mmdet.models.necks import FPN

    class Detector(nn.Module):

        def __init__(self):
            super().__init__()
            self.backbone = ResNet(18, step='StepNet', base_channels=8)
            self.neck = FPN([8, 16, 32, 64], 8, num_outs=5)

        def extract_feat(self, x):
            return self.neck(self.backbone(x))

    model = Detector().eval()
    path = str(tmp_path / 'net.onnx')
    export_onnx(model, path, (64, 64), dynamo=False)
    errors = check_onnx(model, path, [(1, 64, 64), (2, 128, 96)])
    assert max(errors.values()) <= 1e-5
