import math

import pytest
import torch

from raffia import Domain, RaffiaError
from raffia.spaces import LaplacianBasis

CASES = [
    (dim, boundary, extent)
    for dim in (1, 2)
    for boundary in ("periodic", "neumann", "dirichlet")
    for extent in (1.0, 2.5, (1.0, 3.0)[:dim])
] + [
    (axes, boundary, extent)
    for axes in (("periodic", "box"), ("box", "periodic"), ("cells",), ("cells", "cells"), ("periodic", "cells", "box"))
    for boundary in ("neumann", "dirichlet")
    for extent in (1.0, (1.0, 3.0, 0.7)[: len(axes)])
] + [
    (("left", "left"), "dirichlet", 1.0),
    (("right", "periodic"), "dirichlet", (2.0, 1.0)),
    (("box", "cells"), ("dirichlet", "neumann"), 1.0),
]  # fmt: skip


def basis(dim, boundary, extent, n_modes=20, **more):
    """On a torus or a box of this dimension, or with these axes."""
    domain = Domain(dim, boundary == "periodic", extent) if isinstance(dim, int) else Domain(len(dim), extent=extent, axes=dim)
    return LaplacianBasis(domain, boundary, n_modes, **more)


@pytest.mark.parametrize(("dim", "boundary", "extent"), CASES)
@pytest.mark.parametrize("points", [24, 25])
def test_eigenfunctions_are_orthonormal_under_the_quadrature_of_the_grid(dim, boundary, extent, points):
    b = basis(dim, boundary, extent)
    grid = b.domain.grid(points)
    functions = b.synthesis(torch.eye(20, dtype=torch.float64), grid)
    v = grid.with_ends.embed(grid.put_back(functions, b.boundaries))  # zero at ends that were left out
    gram = v @ v.T
    torch.testing.assert_close(gram, torch.eye(20, dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("dim", "boundary", "extent"), CASES)
def test_analysis_inverts_synthesis(dim, boundary, extent):
    b = basis(dim, boundary, extent)
    grid = b.domain.grid(*(30, 23, 24)[: b.domain.dim])
    coef = torch.randn(4, 20, dtype=torch.float64)
    torch.testing.assert_close(b.analysis(b.synthesis(coef, grid), grid), coef, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("dim", "boundary", "extent"), CASES)
def test_eigenfunctions_solve_the_eigenvalue_problem(dim, boundary, extent):
    """−Δφ = κφ, the Laplacian by central differences at the inner nodes: second order, so halving h quarters the error."""
    b = basis(dim, boundary, extent, n_modes=6)

    def error(points):
        grid = b.domain.grid(points)
        phi = b.synthesis(torch.eye(6, dtype=torch.float64), grid)
        laplacian = torch.zeros_like(phi)
        for axis, h in enumerate(grid.spacings, 1):
            laplacian = laplacian + (phi.roll(1, axis) + phi.roll(-1, axis) - 2 * phi) / h**2
        inner = (slice(None), *[slice(1, -1)] * b.domain.dim)
        return float((laplacian + b.eigenvalues.reshape(-1, *[1] * b.domain.dim) * phi)[inner].abs().max())

    coarse, fine = (error(points) for points in ((64, 128) if b.domain.periodic else (65, 129)))
    assert math.log2(coarse / fine) == pytest.approx(2, abs=0.1)


def test_periodic_functions_are_the_papers():  # eqn:periodic
    grid = Domain(1).grid(50)
    x = grid.axes()[0]
    phi = basis(1, "periodic", 1.0).synthesis(torch.eye(20, dtype=torch.float64), grid)
    torch.testing.assert_close(phi[0], torch.ones(50, dtype=torch.float64))
    torch.testing.assert_close(phi[2 * 3 - 1], math.sqrt(2) * torch.sin(2 * torch.pi * 3 * x))
    torch.testing.assert_close(phi[2 * 3], math.sqrt(2) * torch.cos(2 * torch.pi * 3 * x))


def test_neumann_functions_on_the_square_are_the_papers():  # eqn:eig_neumann
    b = basis(2, "neumann", 1.0, constant=False)
    grid = b.domain.grid(30)
    x, y = grid.nodes().unbind(-1)
    phi = b.synthesis(torch.eye(20, dtype=torch.float64), grid)
    for (k, j), function, eigenvalue in zip(b.modes.tolist(), phi, b.eigenvalues.tolist(), strict=True):
        factor = math.sqrt(2) if 0 in (k, j) else 2
        torch.testing.assert_close(
            function, factor * torch.cos(k * torch.pi * x) * torch.cos(j * torch.pi * y), atol=1e-12, rtol=0
        )
        assert eigenvalue == pytest.approx(math.pi**2 * (k**2 + j**2))


@pytest.mark.parametrize(("dim", "boundary", "extent"), CASES)
def test_a_longer_basis_extends_a_shorter_one_in_order_of_eigenvalue(dim, boundary, extent):
    short, long = basis(dim, boundary, extent, 7), basis(dim, boundary, extent, 300)
    assert torch.equal(long.modes[:7], short.modes)
    assert (long.eigenvalues.diff() >= -1e-9 * long.eigenvalues[1:]).all()
    assert len({tuple(mode) for mode in long.modes.tolist()}) == 300


@pytest.mark.parametrize(
    ("axes", "boundary"),
    [
        (("periodic", "box"), "neumann"),
        (("cells", "periodic"), "dirichlet"),
        (("left", "right"), "neumann"),
        (("cells",), "neumann"),
    ],
)
def test_the_same_coefficients_are_the_same_function_on_a_finer_grid(axes, boundary):
    b = basis(axes, boundary, 1.5)
    coef = torch.randn(2, 20, dtype=torch.float64)
    grid = b.domain.grid(24)
    finer, shared = grid.refined()
    torch.testing.assert_close(b.synthesis(coef, finer)[(..., *shared)], b.synthesis(coef, grid))


def test_coefficients_where_an_end_is_left_out_are_of_second_order():
    b = basis(("left",), "neumann", 1.0, 6)

    def error(points):
        f = b.synthesis(torch.eye(6, dtype=torch.float64), b.domain.grid(points))
        return float((b.analysis(f, b.domain.grid(points)) - torch.eye(6)).abs().max())

    assert math.log2(error(64) / error(128)) > 1.9


def test_an_axis_that_does_not_matter_leaves_the_others_as_they_are():
    """On a product of a circle and a box, functions of one coordinate are those of the circle, or of the box."""
    channel = Domain(2, axes=("periodic", "box"), extent=(2.0, 1.0))
    grid, both = channel.grid(16, 9), LaplacianBasis(channel, "neumann", 60)
    f = torch.randn(16, dtype=torch.float64)
    on_circle = LaplacianBasis(Domain(1, extent=2.0), "periodic", 9).analysis(f, Domain(1, extent=2.0).grid(16))
    found = both.analysis(f[:, None].expand(16, 9), grid)
    along = found[(both.modes[:, 1] == 0).nonzero()[:9, 0]]
    torch.testing.assert_close(along, on_circle)
    assert found[both.modes[:, 1] > 0].abs().max() < 1e-12


def test_modes_that_a_grid_cannot_hold_are_dropped_never_aliased():
    b = basis(1, "periodic", 1.0, 40)
    high = torch.zeros(40, dtype=torch.float64)
    high[20:] = 1.0  # wavenumbers 10 and more
    assert b.synthesis(high, b.domain.grid(16)).abs().max() == 0
    assert b.synthesis(high, b.domain.grid(64)).abs().max() > 1


def test_wrong_pairs_of_boundary_and_domain_are_refused():
    with pytest.raises(RaffiaError, match="does not go with a torus"):
        LaplacianBasis(Domain(1), "neumann", 4)
    with pytest.raises(RaffiaError, match="n_modes must be 1 or more"):
        basis(1, "dirichlet", 1.0, 0)
    with pytest.raises(RaffiaError, match="too coarse"):
        basis(1, "periodic", 1.0, 4, constant=False).synthesis(torch.ones(4), Domain(1).grid(2))
