# Copyright (c) mmstepnet contributors. All rights reserved.
"""mmcv's extension functions, computed by torchvision's operators.

Names, arguments and in-place outputs are those with which ``mmcv.ops`` calls
its extension. 16-bit tensors are computed in 32 bits.
"""
import torch
import torchvision  # noqa: F401  registers torch.ops.torchvision
from torch import Tensor

__all__ = [
    'nms', 'roi_align_forward', 'roi_align_backward', 'get_compiler_version',
    'get_compiling_cuda_version'
]

_AVERAGE = 1


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.element_size() < 4 else tensor


def nms(bboxes: Tensor,
        scores: Tensor,
        iou_threshold: float,
        offset: int = 0) -> Tensor:
    """Greedy non-maximum suppression.

    Args:
        bboxes (Tensor): Boxes x1, y1, x2, y2 in pixels, of shape (N, 4).
        scores (Tensor): Scores of shape (N, ).
        iou_threshold (float): Boxes that overlap a better one by more are
            dropped.
        offset (int): 1 where a box includes its last pixel, so that its
            width is ``x2 - x1 + 1``. Defaults to 0.

    Returns:
        Tensor: Indices of the kept boxes by descending score, int64.

    Example:
        >>> boxes = torch.tensor([[0., 0., 4., 4.], [0., 0., 4., 3.]])
        >>> nms(boxes, torch.tensor([.5, .9]), iou_threshold=.7)
        tensor([1])
    """
    dtype = torch.promote_types(bboxes.dtype, scores.dtype)
    bboxes = _at_least_float32(bboxes.to(dtype))
    if offset:
        bboxes = bboxes + bboxes.new_tensor([0, 0, offset, offset])
    return torch.ops.torchvision.nms(bboxes, scores.to(bboxes.dtype),
                                     iou_threshold)


def _check_pool_mode(pool_mode: int) -> None:
    if pool_mode != _AVERAGE:
        raise NotImplementedError(
            "roi_align without a compiled mmcv supports pool_mode='avg' "
            "only, got 'max'")


def roi_align_forward(input: Tensor, rois: Tensor, output: Tensor,
                      argmax_y: Tensor, argmax_x: Tensor, aligned_height: int,
                      aligned_width: int, spatial_scale: float,
                      sampling_ratio: int, pool_mode: int,
                      aligned: bool) -> None:
    """Average the features in the bins of each region, into ``output``.

    Args:
        input (Tensor): Features of shape (N, C, H, W).
        rois (Tensor): Image index and x1, y1, x2, y2, of shape (K, 5).
        output (Tensor): Written to, of shape (K, C, aligned_height,
            aligned_width).
        argmax_y (Tensor): Unused, belongs to max pooling.
        argmax_x (Tensor): Unused, belongs to max pooling.
        aligned_height (int): Bins of a region along y.
        aligned_width (int): Bins of a region along x.
        spatial_scale (float): Features per pixel.
        sampling_ratio (int): Samples per bin and axis, 0 to adapt.
        pool_mode (int): 1, the average.
        aligned (bool): Whether regions are shifted by half a pixel.

    Raises:
        NotImplementedError: If ``pool_mode`` is 0, the maximum.
    """
    _check_pool_mode(pool_mode)
    features = _at_least_float32(input)
    output.copy_(
        torch.ops.torchvision.roi_align(features, rois.to(features.dtype),
                                        spatial_scale, aligned_height,
                                        aligned_width, sampling_ratio,
                                        aligned))


def roi_align_backward(grad_output: Tensor, rois: Tensor, argmax_y: Tensor,
                       argmax_x: Tensor, grad_input: Tensor,
                       aligned_height: int, aligned_width: int,
                       spatial_scale: float, sampling_ratio: int,
                       pool_mode: int, aligned: bool) -> None:
    """Gradient of :func:`roi_align_forward`, into ``grad_input``.

    Args:
        grad_output (Tensor): Gradient of the output.
        grad_input (Tensor): Written to, the gradient of the features, of
            shape (N, C, H, W).

    The other arguments are those of :func:`roi_align_forward`.

    Raises:
        NotImplementedError: If ``pool_mode`` is 0, the maximum.
    """
    _check_pool_mode(pool_mode)
    grad = _at_least_float32(grad_output)
    grad_input.copy_(
        torch.ops.torchvision._roi_align_backward(
            grad, rois.to(grad.dtype), spatial_scale, aligned_height,
            aligned_width, *grad_input.shape, sampling_ratio, aligned))


def get_compiler_version() -> str:
    """What ``mmcv.utils.collect_env`` prints: nothing was compiled."""
    return 'n/a'


def get_compiling_cuda_version() -> str:
    """What ``mmcv.utils.collect_env`` prints: nothing was compiled."""
    return 'n/a'
