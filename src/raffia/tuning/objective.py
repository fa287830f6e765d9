"""The validation error as a function of hyperparameters: differentiable, with fresh features and a fresh split at every draw."""

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Inexact
from sklearn.base import clone
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, FeatureMap, Range, rows_of
from raffia.measures.noise import uniform_noise
from raffia.metrics import ErrorMeasure, measure_for
from raffia.regression import DEFAULTS, coordinates_of, gains_of, root_mean_squares, targets_of
from raffia.spaces import POINT, Grid, Modes, Nodes, Vectors, modes_of, resample
from raffia.tuning.workers import side_by_side


@dataclass(frozen=True, kw_only=True)
class SearchDefaults:
    """Numbers that decide in searches."""

    scored: int = 10**6
    """The first of the draws that no step has: every candidate is scored on the same ones."""
    screened: int = 700_000
    """The first of the draws that starting values are compared on."""
    random_starts: int = 32
    """Random settings that are tried where features are undefined at the starting values."""
    most_combinations: int = 12
    """Up to so many combinations of categories, all are tried."""
    points: tuple[dict[int, int], dict[int, int]] = ({0: 1, 1: 64, 2: 33, 3: 17}, {0: 1, 1: 64, 2: 17, 3: 9})
    """Points along an axis, by the dimension, for ordinary and modal coefficients, which do not depend on the grid."""
    fine_points: int = 160
    """Points on a line for modal coefficients of features with fine details."""
    modal_sizes: tuple[int, int] = (96, 192)
    modal_sizes_of_many: tuple[int, int] = (32, 64)
    few_modes: int = 160
    """Features and samples of a search for modal coefficients: every mode has equations of its own, and more of them find worse features.
    Where modes are more than a few, what is found is as good with fewer of either."""
    side: int = 256
    """Features, and samples, of other searches for features that are functions."""
    elements: int = 2**22
    """Feature values of one draw: what two cores differentiate in a fraction of a second."""
    finer: dict[str, int] = field(default_factory=lambda: {"cpu": 4, "cuda": 32})
    """Times as many of them on a finer grid, where a search ends."""


SEARCH = SearchDefaults()


@dataclass(frozen=True, eq=False)
class Pairs:
    """Inputs and outputs of a search, the nodes of the outputs, and those of the features."""

    a: Float[Tensor, "n *grid"]
    y: Float[Tensor, "n *output"]
    grid: Nodes
    values: Nodes

    def coarsened(self, fine: Grid, most: int) -> "Pairs":
        """On a grid of `most` points along an axis at most, instead of the `fine` one; inputs too where features are functions."""
        coarse = fine.domain.grid(*(min(points, most) for points in fine.shape))
        y, grid = resample(self.y, fine, coarse), self.grid.with_channels(coarse)
        return Pairs(self.a, y, grid, POINT) if self.values == POINT else Pairs(resample(self.a, fine, coarse), y, grid, coarse)


@dataclass(frozen=True)
class SearchSpace:
    """Named ranges laid out one after another: u ∈ R^size, between `low` and `high`."""

    ranges: dict[str, Range]

    @property
    def size(self) -> int:
        """How many numbers there are; a vector counts for as many as it has."""
        return sum(r.count or 1 for r in self.ranges.values())

    @property
    def low(self) -> Float[Tensor, "size"]:
        """The lower ends."""
        return self.line({name: r.low for name, r in self.ranges.items()})

    @property
    def high(self) -> Float[Tensor, "size"]:
        """The upper ends."""
        return self.line({name: r.high for name, r in self.ranges.items()})

    def line(self, values: dict[str, Any]) -> Float[Tensor, "size"]:
        """u for given values; one number serves a whole vector."""
        parts = []
        for name, r in self.ranges.items():
            value = torch.as_tensor(values[name], dtype=torch.float64).detach().cpu()
            parts.append((value.log() if r.log else value).expand(r.count or 1).flatten())
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)

    def values(self, u: Float[Tensor, "size"]) -> dict[str, Tensor]:
        """The values at u, differentiable."""
        found, start = {}, 0
        for name, r in self.ranges.items():
            part = u[start : start + (r.count or 1)]
            start += r.count or 1
            part = part.exp() if r.log else part
            found[name] = part if r.count else part[0]
        return found

    def numbers(self, u: Float[Tensor, "size"]) -> dict[str, float | Tensor]:
        """The values at u as floats, and vectors as tensors on the CPU: what a configuration holds."""
        return {
            name: value.detach().cpu() if self.ranges[name].count else float(value)
            for name, value in self.values(u.detach()).items()
        }

    def inside(self, name: str, value: Any) -> Any:
        """The value, or the middle of the range for what is outside it or no number at all."""
        r = self.ranges[name]
        if r.count is None:
            number = float(value) if value is not None else math.nan
            return number if r.low <= number <= r.high else r.middle
        vector = torch.as_tensor(value, dtype=torch.float64).detach().cpu().expand(r.count)
        return torch.where((vector >= r.low) & (vector <= r.high), vector, r.middle)


@dataclass(frozen=True, eq=False)
class ModalSample:
    """Conjugate features and targets of every mode; the ridge of a mode is λ_k = ridge · tr(G_k)/m."""

    V: Inexact[Tensor, "blocks p n"]
    Y: Inexact[Tensor, "blocks n columns"]
    twice: Float[Tensor, "blocks"]
    sizes: Float[Tensor, "n"]
    """What errors are relative to."""
    n_features: int

    @classmethod
    def of(cls, phi: Tensor, a: Tensor, y: Tensor, modes: Modes, nodes: Nodes, sizes: Tensor) -> "ModalSample":
        """From features (n, m, *grid), inputs and outputs on these nodes, where the modes are numbered."""
        own = a.reshape(len(a), -1, *nodes.shape).to(phi)
        V = modes.analysis(torch.cat([phi, own], dim=1), nodes).permute(2, 1, 0).conj().resolve_conj()
        Y = modes.analysis(y.reshape(len(y), -1, *nodes.shape), nodes).permute(2, 0, 1)
        usual = root_mean_squares(V[:, : phi.shape[1]].flatten(1).mT)
        gains = gains_of(usual, modes.twice(nodes).to(usual), nodes.norm(own).square().mean(0).sqrt())
        V = torch.cat([V[:, : phi.shape[1]], gains.to(V)[:, None] * V[:, phi.shape[1] :]], dim=1)
        ones = DEFAULTS.ones * math.sqrt(phi.shape[1]) * usual.to(V)[:, None, None]
        V = torch.cat([V, ones.expand(-1, 1, V.shape[2])], dim=1)
        return cls(V, Y, modes.twice(nodes).to(a), sizes, phi.shape[1])

    def held_out(self, held: slice, ridge: Any) -> Tensor | None:
        """The mean relative error on some samples of the model trained on those after them; None if a factorisation fails."""
        V, Y, m = self.V[:, :, held.stop :], self.Y[:, held.stop :], self.n_features
        few = V.shape[2] < V.shape[1]  # the smaller of two systems
        factor, failed = _factorised((V.mH @ V if few else V @ V.mH) / m, ridge * V[:, :m].abs().square().sum((1, 2)) / m**2)
        if failed.any():
            return None
        coef = V @ torch.cholesky_solve(Y, factor) if few else torch.cholesky_solve(V @ Y, factor)
        wrong = self.V[:, :, held].mH @ coef / m - self.Y[:, held]
        squares = wrong.real.square() + (wrong.imag.square() if wrong.is_complex() else 0)
        return ((self.twice[:, None, None] * squares).sum((0, 2)).sqrt() / self.sizes[held]).mean()


def _factorised(matrices: Tensor, shifts: Tensor) -> tuple[Tensor, Tensor]:
    """L of G + shift = L Lᴴ, of one matrix or of each block, out of place; and whether it failed."""
    eye = torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)
    return torch.linalg.cholesky_ex(matrices + shifts[..., None, None] * eye)


PREFIX = "feature_map__"  # parameters are named by their path in a model, as in set_params


@dataclass(frozen=True, eq=False)
class Sample:
    """The features and targets of one draw, embedded: a small regression to be solved on some samples and judged on others."""

    rows: Float[Tensor, "m n points"]
    targets: Float[Tensor, "n points columns"]
    sizes: Float[Tensor, "n"]
    """What errors are relative to."""

    def held_out(self, held: slice, ridge: Any) -> Tensor | None:
        """The error on some samples of the model trained on those after them, with λ = ridge · tr(G)/m.

        It is the mean relative error of functions; of numbers, the root mean square, which is smooth. None if the factorisation fails.
        """
        train, targets = self.rows[:, held.stop :].flatten(1), self.targets[held.stop :].flatten(0, 1)
        gram = train @ train.mT / len(train)
        factor, failed = _factorised(gram, ridge * gram.diagonal().mean())
        if failed:
            return None
        values = self.rows[:, held].flatten(1).mT @ torch.cholesky_solve(train @ targets, factor) / len(train)
        wrong = values.reshape(self.targets[held].shape) - self.targets[held]
        errors = wrong.flatten(1).norm(dim=1) / self.sizes[held]
        return errors.square().mean().sqrt() if wrong[0].numel() == 1 else errors.mean()


@dataclass(frozen=True, eq=False)
class Objective:
    """log of the validation error of a small model, as a function of the feature map's hyperparameters and the ridge.

    `ridge` is relative: λ = ridge · tr(G)/m. Draw number d has features d·m … (d + 1)·m − 1 of the seed and a split of its own,
    so equal draws are common random numbers and different draws are independent.
    """

    feature_map: FeatureMap
    a: Float[Tensor, "n *grid"]
    y: Float[Tensor, "n *output"]
    grid: Nodes
    values: Nodes
    """Where features live."""
    sizes: Float[Tensor, "n"]
    """What errors are relative to."""
    n_features: int
    n_samples: int
    seed: int
    last: tuple[int, int] | None = None
    """Features and samples of the last rung, where a search has one."""
    modes: Modes | None = None
    """Of the outputs, where coefficients are modal."""
    finer: Pairs | None = None
    """The pairs of the last rung, for features that start from their current values."""

    @cached_property
    def space(self) -> SearchSpace:
        """The numbers to search, the ridge among them."""
        own = {PREFIX + name: what for name, what in self.feature_map.hyperparameters.items() if isinstance(what, Range)}
        return SearchSpace(own | {"ridge": Range(1e-14, 1e-2)})

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The categories to choose from."""
        declared = self.feature_map.hyperparameters.items()
        return {PREFIX + name: what.options for name, what in declared if isinstance(what, Choice)}

    def start(self) -> dict[str, Any]:
        """The present values; the middle of its range for one that is outside; a ridge of 1e-8."""
        given = self.feature_map.get_params(deep=True)
        return {
            name: self.space.inside(name, 1e-8 if name == "ridge" else given[name.removeprefix(PREFIX)])
            for name in self.space.ranges
        }

    def with_choices(self, chosen: dict[str, Any]) -> "Objective":
        """The same objective with some categories fixed."""
        return dataclasses.replace(self, feature_map=self._moved(chosen))

    def with_last(self) -> "Objective":
        """The last rung: larger models, or a finer grid where features are delicate."""
        assert self.last is not None  # whoever asks has looked
        n_features, n_samples = self.last
        finer = {} if self.finer is None else vars(self.finer)
        return dataclasses.replace(self, n_features=n_features, n_samples=min(n_samples, len(self.a)), **finer)

    def sample(self, parameters: dict[str, Any], draw: int) -> Sample | ModalSample:
        """The features and targets of one draw, the samples in an order of its own."""
        own = {name: value for name, value in parameters.items() if name != "ridge"}
        theta = self.feature_map.draw(range(draw * self.n_features, (draw + 1) * self.n_features), self.seed).to(self.a)
        order = uniform_noise(range(draw, draw + 1), (len(self.a),), self.seed, "split")[0].argsort()
        order = order[: self.n_samples].to(self.a.device)
        a, y, sizes = self.a[order], self.y[order], self.sizes[order]
        phi = self._moved(own)(a, theta)
        if self.modes is not None:
            return ModalSample.of(phi, a, y, self.modes, self.values, sizes)
        rows = rows_of(phi).reshape(phi.shape[1], len(order), -1) * self.values.root_weights.to(self.a)
        return Sample(rows, targets_of(self.grid, y, self.values), sizes)

    def loss(self, parameters: dict[str, Any], draw: int) -> Tensor | None:
        """log error of one draw; None where the features are undefined or a factorisation fails."""
        try:
            sample = self.sample(parameters, draw)
        except RaffiaError:
            return None
        error = sample.held_out(slice(0, max(1, len(sample.sizes) // 4)), parameters["ridge"])
        return error.log() if error is not None and torch.isfinite(error) and error > 0 else None

    def value(self, parameters: dict[str, Any], draws: range) -> float:
        """The validation error, averaged over draws; infinite if any fails."""

        def of(draw: int) -> float | None:
            with torch.no_grad():
                loss = self.loss(parameters, draw)
            return None if loss is None else float(loss)

        first = of(draws[0])
        losses = [first] if first is None else [first, *side_by_side(of, draws[1:])]
        if None in losses:
            return math.inf
        return math.exp(sum(loss for loss in losses if loss is not None) / len(draws))

    def _moved(self, parameters: dict[str, Any]) -> FeatureMap:
        return clone(self.feature_map).set_params(**{name.removeprefix(PREFIX): value for name, value in parameters.items()})


def objective_for(
    feature_map: FeatureMap,
    a: Tensor,
    y: Tensor,
    output_grid: Nodes,
    n_features: int | None = None,
    n_samples: int | None = None,
    seed: int = 0,
    target: int = 0,
    measure: ErrorMeasure | None = None,
    modal: bool = False,
) -> Objective:
    """An objective that is cheap to evaluate: few features, few samples, a coarse grid.

    `target` is the number of features of the model in the end; where it is large, the search gets a last rung at a quarter of it, or
    what the machine can do. `measure` says what errors are relative to, if not what is usual for such outputs. With `modal`, the small
    models have a coefficient for each mode, unless features are delicate.
    """
    modal = modal and not feature_map.start_from_current_values
    if measure is None:
        measure = measure_for(output_grid, normalized=False).of(y, output_grid)
    sizes = measure.sizes(y, output_grid)
    values = feature_map.values_on(feature_map.domain.grid_of(a))
    if values == POINT and output_grid.size > len(a):
        y = coordinates_of(output_grid.embed(y))
        output_grid = Vectors(y.shape[1])
    pairs, finer = _on_coarse_grids(feature_map, Pairs(a, y, output_grid, values), modal)
    m, n = _sizes(feature_map, pairs, modal)
    n, last = min(n if n_samples is None else n_samples, len(a)), None
    if n_features is None and finer is not None:
        side = math.isqrt(SEARCH.finer[a.device.type] * SEARCH.elements // (finer.values.size * feature_map.work_per_value))
        last = (max(m + 1, min(side, SEARCH.side)), min(side, SEARCH.side, len(a)))
    elif n_features is None and not modal:
        cpu = a.device.type == "cpu"  # a quarter of the features in the end, or what the machine can do
        rung = min(target // 4, max(4 * m, 1024) if cpu else max(8 * m, 2048))
        last = (rung, min(n if cpu else 512, len(a))) if rung > m else None
    m, modes = m if n_features is None else n_features, modes_of(pairs.y, pairs.grid) if modal else None
    return Objective(
        feature_map, **vars(pairs), sizes=sizes, n_features=m, n_samples=n, seed=seed, last=last, modes=modes, finer=finer
    )


def _on_coarse_grids(feature_map: FeatureMap, pairs: Pairs, modal: bool) -> tuple[Pairs, Pairs | None]:
    """The pairs on the grid of a search and, for features that start from their current values, on a finer one for its end."""
    fine = pairs.grid.one_channel
    if not isinstance(fine, Grid) or not fine.shape:
        return pairs, None
    dim, functions = fine.domain.dim, pairs.values != POINT
    most = SEARCH.fine_points if modal and feature_map.fine and dim == 1 else SEARCH.points[modal].get(dim, 17)
    finer = None
    if functions and feature_map.start_from_current_values:
        finer = pairs.coarsened(fine, most if pairs.a.device.type == "cpu" else 2 * most - 1)
    if functions and not modal and dim == 2 and feature_map.work_per_value > 2:
        most = 1 + most // 2
    coarse = pairs.coarsened(fine, most)
    return coarse, None if finer is None or finer.values == coarse.values else finer


def _sizes(feature_map: FeatureMap, pairs: Pairs, modal: bool) -> tuple[int, int]:
    """The numbers of features and samples of a search."""
    if pairs.values == POINT:  # beyond four features a sample, more of them change nothing
        side, most = math.isqrt(SEARCH.elements), (max(64, min(512, 4 * len(pairs.a))), 512)
    else:
        side, most = math.isqrt(SEARCH.elements // (pairs.values.size * feature_map.work_per_value)), (SEARCH.side, SEARCH.side)
        if modal:
            most = SEARCH.modal_sizes if pairs.values.size <= SEARCH.few_modes else SEARCH.modal_sizes_of_many
    return min(side, most[0]), min(side, most[1])
