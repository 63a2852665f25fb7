# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, hessian

from mmstepnet.analysis import HessianProduct, lanczos


def quadratic(eigenvalues):
    """A quadratic loss of two parameters and its Hessian."""
    torch.manual_seed(0)
    values = torch.tensor(eigenvalues, dtype=torch.float64)
    basis, _ = torch.linalg.qr(
        torch.randn(len(values), len(values), dtype=torch.float64))
    matrix = basis @ torch.diag(values) @ basis.T
    x = torch.randn(2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(len(values) - 2, dtype=torch.float64, requires_grad=True)

    def loss():
        z = torch.cat([x, y])
        return z @ matrix @ z / 2 + z.sum()

    return HessianProduct(loss, [x, y]), matrix


EIGENVALUES = [-3., -1., 0., 0.5, 2., 7.5, 10.]


def start_of(dim, dtype=torch.float64):
    return torch.randn(
        dim, dtype=dtype, generator=torch.Generator().manual_seed(1))


def test_eigenvalues_of_a_quadratic_are_exact():
    product, _ = quadratic(EIGENVALUES)
    ritz = lanczos(product, start_of(7), max_steps=7)
    torch.testing.assert_close(
        ritz.values,
        torch.tensor(EIGENVALUES, dtype=torch.float64),
        rtol=1e-10,
        atol=1e-10)
    assert ritz.errors.max() < 1e-10


def test_product_with_a_quadratic():
    product, matrix = quadratic(EIGENVALUES)
    vector = start_of(7)
    torch.testing.assert_close(product(vector), matrix @ vector)
    assert product.dim == 7


def test_multiple_eigenvalues_end_the_iteration():
    product, _ = quadratic([1., 1., 1., 4., 4., 4., 4.])
    ritz = lanczos(product, start_of(7))
    torch.testing.assert_close(ritz.values,
                               torch.tensor([1., 4.], dtype=torch.float64))


def test_error_bounds_hold():
    torch.manual_seed(0)
    matrix = torch.randn(60, 60, dtype=torch.float64)
    matrix = matrix + matrix.T
    exact = torch.linalg.eigvalsh(matrix)
    ritz = lanczos(matrix.mv, start_of(60), max_steps=12)
    distances = (ritz.values[:, None] - exact).abs().amin(1)
    assert (distances <= ritz.errors + 1e-9).all()
    assert ritz.errors.max() > 0.1


def test_quadrature_is_exact_with_all_steps():
    """Of functions of the matrix between the start vector."""
    product, matrix = quadratic(EIGENVALUES)
    start = start_of(7)
    ritz = lanczos(product, start, max_steps=7)
    unit = start / start.norm()
    assert ritz.weights.sum().item() == pytest.approx(1)
    expected = unit @ torch.linalg.matrix_exp(matrix) @ unit
    torch.testing.assert_close(ritz.weights @ ritz.values.exp(), expected)


def test_it_stops_when_the_top_is_found():
    values = torch.cat(
        [torch.rand(500, dtype=torch.float64),
         torch.tensor([50., 100.])])
    calls = []

    def product(vector):
        calls.append(1)
        return values * vector

    ritz = lanczos(product, start_of(502), 100, num_top=2, tol=1e-6)
    assert len(calls) < 20
    torch.testing.assert_close(
        ritz.values[-2:],
        torch.tensor([50., 100.], dtype=torch.float64),
        rtol=1e-6,
        atol=0)


class TinyAttention(nn.Module):

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(3, 6, bias=False)
        self.head = nn.Linear(2, 3)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.head(F.scaled_dot_product_attention(q, k, v).mean(1))


def small_convnet():
    return nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Tanh(), nn.Flatten(),
        nn.Linear(12, 3))


@pytest.mark.parametrize('make, shape', [(small_convnet, (8, 2, 4, 4)),
                                         (TinyAttention, (8, 4, 3))])
def test_against_the_dense_hessian_of_a_network(make, shape):
    torch.manual_seed(0)
    model = make().double().eval()
    inputs = torch.randn(shape, dtype=torch.float64)
    labels = torch.arange(8) % 3
    parameters = dict(model.named_parameters())

    def loss_of(values):
        return F.cross_entropy(
            functional_call(model, values, (inputs, )), labels)

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        blocks = hessian(loss_of)({
            name: value.detach()
            for name, value in parameters.items()
        })
    dense = torch.cat([
        torch.cat([
            blocks[a][b].reshape(parameters[a].numel(), -1) for b in parameters
        ], 1) for a in parameters
    ])
    exact = torch.linalg.eigvalsh(dense)
    product = HessianProduct(lambda: loss_of(parameters), parameters.values())
    vector = start_of(len(dense))
    torch.testing.assert_close(
        product(vector), dense @ vector, rtol=1e-9, atol=1e-12)
    ritz = lanczos(product, vector, len(dense), num_top=5, tol=1e-8)
    torch.testing.assert_close(
        ritz.values[-5:], exact[-5:], rtol=1e-7, atol=1e-10)
    assert all(p.grad is None for p in parameters.values())


def test_float32_agrees_with_float64():
    torch.manual_seed(0)
    model = small_convnet().eval()
    inputs, labels = torch.randn(8, 2, 4, 4), torch.arange(8) % 3
    tops = []
    for dtype in (torch.float32, torch.float64):
        model.to(dtype)
        product = HessianProduct(
            lambda: F.cross_entropy(model(inputs.to(dtype)), labels),
            list(model.parameters()))
        tops.append(
            lanczos(product, start_of(product.dim, dtype), num_top=3).values)
    torch.testing.assert_close(tops[0][-3:], tops[1][-3:], rtol=1e-3, atol=0)


def test_a_linear_loss_has_no_curvature():
    x = torch.ones(3, requires_grad=True)
    product = HessianProduct(lambda: 2 * x.sum(), [x])
    assert product(torch.ones(3)).tolist() == [0, 0, 0]
    assert lanczos(product, torch.ones(3)).values.tolist() == [0]


def test_parameters_that_do_not_matter():
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    product = HessianProduct(lambda: (x**2).sum(), [x, y])
    assert product(torch.ones(4)).tolist() == [2, 2, 0, 0]


def test_impossible_steps():
    with pytest.raises(ValueError, match='max_steps must be positive, got 0'):
        lanczos(lambda v: v, torch.ones(2), 0)
