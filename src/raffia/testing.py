"""The contract of feature maps as one function, to test your own maps."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from sklearn.base import clone
from torch import Tensor

from raffia.features.base import FeatureMap
from raffia.measures import GaussianField, uniform_noise
from raffia.model import RandomFeatureModel, load
from raffia.spaces import Domain, Grid

Inputs = Callable[[int, Grid], Tensor]
FINER, LARGER, MOST_NODES = (
    (1.03, 1.3, 2.0, 4.0),
    1.2,
    5000,
)  # grids that models are compared on, and how much larger errors may be there


def check_feature_map(
    feature_map: FeatureMap, inputs: Inputs | None = None, points: int = 17, grid_tolerance: float = 1e-10
) -> None:
    """Raise AssertionError unless the map keeps the contract of `FeatureMap`.

    Shape, determinism, prefixes of θ, the same function on a finer grid (to `grid_tolerance`, relative), independence of
    samples and features from each other, gradients in every float that matters, float32, `combination`, clone, a model that
    predicts the same after saving and loading, and models that are as good on finer grids as on that of their training.
    `inputs(n, grid)` makes test inputs; the default is smooth random functions.
    """
    inputs = inputs or _smooth_inputs
    grid = feature_map.domain.grid(points) if feature_map.domain.dim else Domain(0).grid()
    a, theta = inputs(3, grid), feature_map.draw(5, seed=1)
    phi = feature_map(a, theta)
    shapes = ((3, 5), (3, 5, *grid.shape))
    _require(tuple(phi.shape) in shapes, f"φ must have shape {shapes[1]} (n, m, *grid), or {shapes[0]}; got {tuple(phi.shape)}")
    _require(bool(torch.isfinite(phi).all()), "φ must be finite on smooth inputs")
    _same("the first rows of a longer draw", feature_map.draw(9, seed=1)[:5], theta, 0.0)
    _same("a slice of a draw", feature_map.draw(range(2, 5), seed=1), theta[2:], 0.0)
    _require(not torch.equal(feature_map.draw(5, seed=2), theta), "another seed must give another θ")
    _same("a second call with the same arguments", feature_map(a, theta), phi, 0.0)
    _same("one sample at a time", torch.cat([feature_map(part, theta) for part in a.split(1)]), phi, 1e-12)
    _same("one feature at a time", torch.cat([feature_map(a, part) for part in theta.split(1)], dim=1), phi, 1e-12)
    seen, prepared = feature_map.precompute(a), feature_map.prepare(theta, grid)
    tiled = [seen(tuple(part[some] for part in prepared)) for some in (slice(0, 2), slice(2, 5))]
    _same("features from precomputed inputs, in tiles", torch.cat(tiled, dim=1), phi, 1e-12)
    coef = torch.linspace(-1, 1, 5, dtype=torch.float64)
    _same("a combination", feature_map.combination(theta, coef, grid)(a), torch.einsum("j,ij...->i...", coef, phi), 1e-10)
    _same("a clone", clone(feature_map)(a, theta), phi, 0.0)
    single = feature_map(a.float(), theta.float())
    _require(single.dtype == torch.float32, f"float32 in must give float32 out; got {single.dtype}")
    _same("float32", single.double(), phi, 1e-3)
    _check_finer_grid(feature_map, inputs, theta, grid, phi, grid_tolerance)
    _check_gradients(feature_map, a, theta)
    _check_saving(feature_map, a)
    _check_any_grid(feature_map, inputs, grid, phi.ndim == 2, grid_tolerance)


def _smooth_inputs(n: int, grid: Grid) -> Tensor:
    domain = grid.domain
    if domain.dim == 0:
        return uniform_noise(n, (), 0, "check")
    return GaussianField(domain, domain.natural_boundary, n_modes=6).sample(n, grid, seed=0)


def _check_finer_grid(feature_map: FeatureMap, inputs: Inputs, theta: Tensor, grid: Grid, phi: Tensor, rtol: float) -> None:
    if phi.ndim == 2 and feature_map.domain.dim == 0:
        return
    finer, shared = grid.refined()
    there: Any = (..., *shared)
    values = feature_map(inputs(3, finer), theta)
    _same("a finer grid, at shared nodes", values[there] if phi.ndim > 2 else values, phi, rtol)


def _check_gradients(feature_map: FeatureMap, a: Tensor, theta: Tensor) -> None:
    """Central differences in the relative size of each hyperparameter against autograd."""
    weights = torch.cos(torch.arange(theta.shape[0], dtype=torch.float64))
    for name, value in feature_map.get_params(deep=False).items():
        if not isinstance(value, float):
            continue

        def total(change: Tensor, name: str = name, value: float = value) -> Tensor:
            moved = clone(feature_map).set_params(**{name: value * (1 + change) if value else change})
            phi = moved(a, theta)
            return torch.einsum("j,ij...->", weights, phi + phi.square())  # the square, for odd functions sum to nothing

        zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
        output = total(zero)
        if not output.requires_grad and bool(total(torch.tensor(0.1, dtype=torch.float64)) == output):
            continue  # no part of this configuration
        _require(output.requires_grad, f"φ must be differentiable in {name}: keep it a tensor if it comes as one")
        (slope,) = torch.autograd.grad(output, zero)
        h = 1e-5
        estimate = (total(torch.tensor(h, dtype=torch.float64)) - total(torch.tensor(-h, dtype=torch.float64))) / (2 * h)
        close = abs(float(slope - estimate)) <= 1e-4 * max(abs(float(estimate)), 1e-6 * abs(float(output.detach())), 1e-12)
        _require(close, f"gradient in {name}: {float(slope):g}, by differences {float(estimate):g}")


def _check_saving(feature_map: FeatureMap, a: Tensor) -> None:
    model = RandomFeatureModel(feature_map, n_features=4, ridge=1e-3).fit(a, a)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        again = load(path, classes=[type(feature_map)])
    _same("a saved and loaded model", torch.as_tensor(again.predict(a)), torch.as_tensor(model.predict(a)), 0.0)


def _check_any_grid(feature_map: FeatureMap, inputs: Inputs, grid: Grid, numbers: bool, rtol: float) -> None:
    """Models of a ↦ a − a²/3, trained on one grid, have errors on finer ones that are at most a fifth larger."""
    finer = [
        Grid(grid.domain, tuple(kind.points(round(factor * kind.intervals(points) + 0.5)) for kind, points, _ in grid.lines))
        for factor in FINER
    ]
    kinds: tuple[Literal["ordinary", "modal"], ...] = ("ordinary", "modal")
    for coefficients in kinds[: 1 if numbers else 2]:
        model = RandomFeatureModel(feature_map, 4, 1e-3, coefficients=coefficients)
        a = inputs(8, grid)
        model.fit(a, a - a**2 / 3)
        wrong = []
        for nodes in [grid, *(other for other in finer if other.size <= MOST_NODES)]:
            a = inputs(8, nodes)
            wrong.append(float((nodes.norm(model.predict(a) - a + a**2 / 3) / nodes.norm(a - a**2 / 3)).mean()))
        held = max(wrong) <= LARGER * wrong[0] + rtol
        _require(
            held,
            f"{coefficients} coefficients must be as good on finer grids; errors are {wrong}, the first of the training grid",
        )


def _same(what: str, value: Tensor, wanted: Tensor, rtol: float) -> None:
    _require(value.shape == wanted.shape, f"{what} must give shape {tuple(wanted.shape)}; got {tuple(value.shape)}")
    error = float((value - wanted).abs().max()) / (float(wanted.abs().max()) or 1.0)  # NaN is not <= rtol
    _require(error <= rtol, f"{what} must give the same values; the relative difference is {error:g}, allowed {rtol:g}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
