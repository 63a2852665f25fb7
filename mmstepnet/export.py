# Copyright (c) mmstepnet contributors. All rights reserved.
"""Classifiers and backbones as ONNX files, checked in ONNX Runtime."""
from importlib.util import find_spec
from typing import Any, Dict, Sequence, Tuple

import torch
from torch import Tensor, nn


def _require(*packages: str) -> None:
    """Check that packages are installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ImportError('ONNX files need packages that are not installed: '
                          f'pip install {" ".join(missing)}')


class ExportedNetwork(nn.Module):
    """The part of a model that maps normalized images to tensors.

    That is a classifier's logits, a backbone's maps, and of a detector the
    maps of its backbone and neck: what follows there, proposals and their
    suppression, depends on the data and is the work of MMDeploy.

    Args:
        model (nn.Module): A backbone, or a model of MMPretrain or
            MMDetection, in evaluation mode.

    Raises:
        ValueError: If the model is in training mode.

    Example:
        >>> from mmstepnet.backbones import CIFARResNet
        >>> network = ExportedNetwork(CIFARResNet(29).eval())
        >>> [tuple(out.shape) for out in network(torch.rand(1, 3, 32, 32))]
        [(1, 256, 8, 8)]
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        if model.training:
            raise ValueError('a model is exported in evaluation mode, got one '
                             'in training mode: call model.eval() first.')
        self.model = model
        self.eval()

    def forward(self, images: Tensor) -> Tuple[Tensor, ...]:
        """Images (N, 3, H, W), normalized, to one tensor or several."""
        if getattr(self.model, 'head', None) is not None:
            return (self.model(images, mode='tensor'), )
        extract = getattr(self.model, 'extract_feat', self.model)
        return tuple(extract(images))


def export_onnx(model: nn.Module,
                path: str,
                size: Tuple[int, int] = (224, 224),
                dynamic: bool = True,
                dynamo: bool = True) -> None:
    """Write the network of a model as an ONNX file.

    The input is called ``images``, the outputs ``output0``, ``output1``, ...

    Args:
        model (nn.Module): See :class:`ExportedNetwork`.
        path (str): Path of the file.
        size (tuple[int, int]): Height and width of the images that the
            network is traced with. Defaults to (224, 224).
        dynamic (bool): Whether the file takes batches and images of other
            sizes too. Defaults to True.
        dynamo (bool): Whether ``torch.export`` captures the network, which
            needs PyTorch 2.6 and the package onnxscript; otherwise
            ``torch.jit.trace`` does. Defaults to True.

    Raises:
        ImportError: If onnx or onnxscript is not installed.
        ValueError: If the model is in training mode, or PyTorch is too old.
    """
    _require('onnx', *(['onnxscript'] if dynamo else []))
    network = ExportedNetwork(model)
    if dynamo and not hasattr(torch.export.Dim, 'DYNAMIC'):
        raise ValueError('torch.export writes ONNX files from PyTorch 2.6 on, '
                         f'got {torch.__version__}: trace the network instead '
                         '(dynamo=False, or --trace of the tool)')
    images = torch.rand(2, 3, *size)
    with torch.no_grad():
        outputs = [f'output{i}' for i in range(len(network(images)))]
    names: Dict[str, Any] = dict(input_names=['images'], output_names=outputs)
    if dynamo:
        axis = torch.export.Dim.DYNAMIC
        torch.onnx.export(
            network, (images, ),
            path,
            dynamo=True,
            external_data=False,
            verbose=False,
            dynamic_shapes=({
                0: axis,
                2: axis,
                3: axis
            }, ) if dynamic else None,
            **names)
        return
    torch.onnx.export(
        network, (images, ),
        path,
        dynamo=False,
        dynamic_axes={
            name: {
                0: 'batch',
                2: 'height',
                3: 'width'
            }
            for name in ['images', *outputs]
        } if dynamic else None,
        **names)


def check_onnx(model: nn.Module,
               path: str,
               shapes: Sequence[Tuple[int, int, int]],
               tolerance: float = 1e-4) -> Dict[tuple, float]:
    """Compare an ONNX file in ONNX Runtime with the model.

    Args:
        model (nn.Module): The model that was exported.
        path (str): Path of the file.
        shapes (Sequence[tuple[int, int, int]]): Batch sizes, heights and
            widths to compare at.
        tolerance (float): Largest difference allowed, relative to the largest
            output. Defaults to 1e-4.

    Returns:
        dict[tuple, float]: Shape to the largest relative difference.

    Raises:
        ImportError: If onnxruntime is not installed.
        ValueError: If the outputs differ or the file refuses a shape.
    """
    _require('onnxruntime')
    import onnxruntime
    network = ExportedNetwork(model)
    session = onnxruntime.InferenceSession(
        path, providers=['CPUExecutionProvider'])
    errors: Dict[tuple, float] = {}
    for batch, height, width in shapes:
        images = torch.rand(batch, 3, height, width)
        with torch.no_grad():
            expected = network(images)
        try:
            got = session.run(None, {'images': images.numpy()})
        except Exception as error:
            raise ValueError(
                f'the exported network fails for {batch} images of {height}x'
                f'{width}: {" ".join(str(error).split())[:120]}') from error
        difference = max(
            float((torch.from_numpy(a) - b).abs().max() / b.abs().max())
            for a, b in zip(got, expected))
        if not difference <= tolerance:
            raise ValueError(
                f'the exported network differs from the model for {batch} '
                f'images of {height}x{width}: expected a relative difference '
                f'of at most {tolerance}, got {difference:.1e}')
        errors[batch, height, width] = difference
    return errors
