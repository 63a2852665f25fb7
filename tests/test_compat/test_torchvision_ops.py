# Copyright (c) mmstepnet contributors. All rights reserved.
import importlib

import pytest
import torch
import torchvision

import mmstepnet  # noqa: F401
from mmstepnet.compat import torchvision_ops

mmcv_ops = pytest.importorskip('mmcv.ops')
not_compiled = pytest.mark.skipif(
    hasattr(importlib.import_module('mmcv._ext'), '__file__'),
    reason='mmcv has compiled operators')


def random_boxes(num=60, size=40., dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    corners = torch.rand(num, 4, generator=generator, dtype=dtype) * size
    corners[:, 2:] = corners[:, :2] + corners[:, 2:] / 2
    return corners, torch.rand(num, generator=generator, dtype=dtype)


def random_regions(num=7, size=64., dtype=torch.float32):
    boxes, _ = random_boxes(num, size, dtype)
    return torch.cat([boxes.new_tensor([[i % 2] for i in range(num)]), boxes],
                     1)


def greedy_nms(boxes, scores, threshold, offset):
    """The definition, box by box."""
    kept = []
    for i in scores.argsort(descending=True).tolist():
        for j in kept:
            top_left = torch.maximum(boxes[i, :2], boxes[j, :2])
            bottom_right = torch.minimum(boxes[i, 2:], boxes[j, 2:])
            overlap = (bottom_right - top_left + offset).clamp(min=0).prod()
            areas = [(boxes[k, 2:] - boxes[k, :2] + offset).prod()
                     for k in (i, j)]
            if overlap / (sum(areas) - overlap) > threshold:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize('threshold', [0.1, 0.5])
def test_nms_keeps_what_the_definition_keeps(threshold, offset):
    boxes, scores = random_boxes()
    dets, kept = mmcv_ops.nms(boxes, scores, threshold, offset=offset)
    assert kept.tolist() == greedy_nms(boxes, scores, threshold, offset)
    assert torch.equal(dets[:, :4], boxes[kept])


@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize('threshold', [0.1, 0.5])
def test_nms_in_double_precision(threshold, offset):
    boxes, scores = random_boxes(dtype=torch.float64)
    kept = torchvision_ops.nms(boxes, scores, threshold, offset=offset)
    assert kept.tolist() == greedy_nms(boxes, scores, threshold, offset)


@pytest.mark.smoke
def test_nms_is_torchvisions():
    boxes, scores = random_boxes()
    _, kept = mmcv_ops.nms(boxes, scores, 0.3)
    assert torch.equal(kept, torchvision.ops.nms(boxes, scores, 0.3))


def test_nms_filters_scores_and_limits_the_number():
    boxes, scores = random_boxes()
    dets, kept = mmcv_ops.nms(
        boxes, scores, 0.3, score_threshold=0.5, max_num=3)
    assert len(kept) == 3
    assert torch.equal(dets[:, 4], scores[kept])
    assert (scores[kept] > 0.5).all()


def test_nms_of_nothing():
    _, kept = mmcv_ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5)
    assert kept.shape == (0, ) and kept.dtype == torch.int64


def test_nms_in_half_precision():
    boxes, scores = random_boxes()
    boxes = boxes.half()
    kept = torchvision_ops.nms(boxes, scores.half(), 0.3)
    expected = torchvision.ops.nms(boxes.float(), scores.half().float(), 0.3)
    assert torch.equal(kept, expected)


@pytest.mark.parametrize('agnostic', [False, True])
def test_batched_nms(agnostic):
    boxes, scores = random_boxes()
    classes = torch.arange(len(boxes)) % 3
    _, kept = mmcv_ops.batched_nms(
        boxes,
        scores,
        classes,
        dict(type='nms', iou_threshold=0.3),
        class_agnostic=agnostic)
    if agnostic:
        expected = torchvision.ops.nms(boxes, scores, 0.3)
    else:
        expected = torchvision.ops.batched_nms(boxes, scores, classes, 0.3)
    assert torch.equal(kept, expected)


@pytest.mark.parametrize('aligned', [False, True])
@pytest.mark.parametrize('sampling_ratio', [0, 2])
def test_roi_align_is_torchvisions(sampling_ratio, aligned):
    features = torch.randn(2, 3, 16, 16).requires_grad_()
    reference = features.detach().clone().requires_grad_()
    regions = random_regions()
    arguments = (7, 0.25, sampling_ratio)
    output = mmcv_ops.roi_align(features, regions, *arguments, 'avg', aligned)
    expected = torchvision.ops.roi_align(reference, regions, *arguments,
                                         aligned)
    assert torch.equal(output, expected)
    weights = torch.randn_like(output)
    (output * weights).sum().backward()
    (expected * weights).sum().backward()
    assert torch.equal(features.grad, reference.grad)
    assert features.grad.abs().sum() > 0


def test_roi_align_has_the_right_gradient():
    features = torch.randn(2, 2, 8, 8, dtype=torch.float64).requires_grad_()
    regions = random_regions(num=3, size=8., dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x: mmcv_ops.roi_align(x, regions, (2, 3), 1., 2, 'avg', True),
        features)


@not_compiled
@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_roi_align_in_half_precision(dtype):
    features = torch.randn(2, 3, 16, 16, dtype=dtype).requires_grad_()
    regions = random_regions()
    output = mmcv_ops.roi_align(features, regions, 2, 0.25, 0, 'avg', True)
    expected = torchvision.ops.roi_align(features.float(), regions, 2, 0.25, 0,
                                         True)
    assert output.dtype == dtype
    assert torch.equal(output, expected.to(dtype))
    output.sum().backward()
    assert features.grad.dtype == dtype
    assert features.grad.abs().sum() > 0


@not_compiled
class TestUnservedOperators:

    def test_maximum_pooling(self):
        with pytest.raises(NotImplementedError, match="'avg' only, got 'max'"):
            mmcv_ops.roi_align(
                torch.zeros(1, 1, 4, 4), torch.zeros(1, 5), 2, 1., 0, 'max')

    def test_soft_nms(self):
        boxes, scores = random_boxes(4)
        with pytest.raises(NotImplementedError, match='softnms.*pip'):
            mmcv_ops.soft_nms(boxes, scores)

    def test_deformable_convolution(self):
        layer = mmcv_ops.DeformConv2d(2, 2, 3, padding=1)
        with pytest.raises(
                NotImplementedError, match='deform_conv_forward.*pip'):
            layer(torch.zeros(1, 2, 8, 8), torch.zeros(1, 18, 8, 8))

    def test_the_versions_of_no_compiler(self):
        assert mmcv_ops.get_compiler_version() == 'n/a'
        assert mmcv_ops.get_compiling_cuda_version() == 'n/a'
