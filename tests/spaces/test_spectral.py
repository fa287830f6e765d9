import math

import pytest
import torch

from raffia import Domain, RaffiaError
from raffia.spaces import spectral
from raffia.spaces.spectral import Series

GRIDS = [
    (Domain(1).grid(16), "periodic"),
    (Domain(1).grid(15), "periodic"),
    (Domain(1, periodic=False, extent=2.0).grid(17), "neumann"),
    (Domain(1, periodic=False).grid(17), "dirichlet"),
    (Domain(2, extent=(1.0, 2.0)).grid(12, 15), "periodic"),
    (Domain(2, periodic=False, extent=(3.0, 1.0)).grid(12, 9), "neumann"),
    (Domain(2, periodic=False).grid(9, 14), "dirichlet"),
    (Domain(3, periodic=False).grid(6, 7, 8), "dirichlet"),
]


@pytest.mark.parametrize(("grid", "boundary"), GRIDS)
def test_analysis_undoes_synthesis(grid, boundary):
    series = Series(grid, boundary)
    coef = torch.randn(*series.squares.shape, 3, dtype=torch.float64)
    torch.testing.assert_close(series.analysis(series.synthesis(coef)), coef)


@pytest.mark.parametrize(("grid", "boundary"), GRIDS)
def test_the_gradient_is_that_of_every_sine_and_cosine(grid, boundary):
    """Two waves along each axis, in units in which the longest side is π, on a torus 2π."""
    series, longest = Series(grid, boundary), max(grid.domain.extents)
    turn = (2 if boundary == "periodic" else 1) * math.pi
    x = [turn * axis / longest for axis in grid.nodes().unbind(-1)]
    k = [2 * longest / extent for extent in grid.domain.extents]
    wave, slope = (torch.sin, torch.cos) if boundary != "neumann" else (torch.cos, lambda z: -torch.sin(z))
    f = math.prod(wave(k_i * x_i) for k_i, x_i in zip(k, x, strict=True))
    value, slopes = series.with_gradient(series.analysis(f[..., None]))
    torch.testing.assert_close(value[..., 0], f)
    for i, found in enumerate(slopes):
        wanted = math.prod(
            (k_j * slope(k_j * x_j) if i == j else wave(k_j * x_j)) for j, (k_j, x_j) in enumerate(zip(k, x, strict=True))
        )
        torch.testing.assert_close(found[..., 0], wanted)


@pytest.mark.parametrize(("grid", "boundary"), GRIDS)
def test_squares_are_the_eigenvalues_of_the_laplacian(grid, boundary):
    """Σ_i ∂_i ∂_i ψ_k = −|k|² ψ_k, where derivatives of sines are cosines, which the other series holds."""
    series = Series(grid, boundary)
    other = Series(grid, {"periodic": "periodic", "neumann": "dirichlet", "dirichlet": "neumann"}[boundary])
    if grid.domain.dim > 1 and boundary != "periodic":
        return
    coef = torch.randn(*series.squares.shape, 1, dtype=torch.float64)
    twice = sum(other.with_gradient(other.analysis(slope))[1][i] for i, slope in enumerate(series.with_gradient(coef)[1]))
    torch.testing.assert_close(twice, series.synthesis(-series.squares[..., None] * coef), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("grid", "boundary"), GRIDS)
def test_matrices_and_ffts_agree(grid, boundary, monkeypatch):
    series = Series(grid, boundary)
    f = torch.randn(*grid.shape, 3, dtype=torch.float64)
    coef = series.analysis(f)
    value, slopes = series.with_gradient(coef)
    monkeypatch.setattr(spectral, "MATRIX_POINTS", 0)
    torch.testing.assert_close(series.analysis(f), coef)
    torch.testing.assert_close(series.synthesis(coef), value)
    for found, wanted in zip(series.with_gradient(coef)[1], slopes, strict=True):
        torch.testing.assert_close(found, wanted)
    assert series.synthesis(series.analysis(f.float())).dtype == torch.float32


def test_the_highest_wave_of_an_even_torus_is_dropped():
    series = Series(Domain(1).grid(8), "periodic")
    f = torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)[:, None]
    assert series.synthesis(series.analysis(f)).abs().max() < 1e-14


@pytest.mark.parametrize(
    ("grid", "boundary", "words"),
    [
        (Domain(1).grid(8), "neumann", "does not go with a torus"),
        (Domain(1, periodic=False).grid(8), "periodic", "does not go with a box"),
        (Domain(2, periodic=False).grid(8, 2), "dirichlet", "3 points or more"),
    ],
)
def test_what_has_no_series_is_refused(grid, boundary, words):
    with pytest.raises(RaffiaError, match=words):
        Series(grid, boundary)
