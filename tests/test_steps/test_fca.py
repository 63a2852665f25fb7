# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torch.nn.functional as F

from mmstepnet.steps import build_step


@pytest.mark.parametrize('size', [7, 28])
@pytest.mark.parametrize('shape', [(28, 28), (5, 3), (1, 40), (57, 31)])
def test_component_is_that_of_the_pooled_map(size, shape):
    step = build_step(dict(type='FCA', size=size), 32).double()
    torch.manual_seed(0)
    x = torch.randn(2, 16, 2, *shape, dtype=torch.float64)
    pooled = F.adaptive_avg_pool2d(x.flatten(0, 1),
                                   size).view(2, 16, 2, size, size)
    torch.testing.assert_close(
        torch.einsum('nkchw,khw->nkc', x,
                     step.component(*shape, torch.float64)),
        torch.einsum('nkchw,kh,kw->nkc', pooled, step.heights, step.widths),
        rtol=1e-9,
        atol=1e-9)
