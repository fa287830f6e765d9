"""The random feature model F(a; α) = (1/m) Σ_j α_j φ(a; θ_j) as a scikit-learn estimator (def:rfm)."""

import os
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from torch import Tensor

from raffia import distributed, io
from raffia.checks import (
    Array,
    ArrayLike,
    as_tensor,
    check_count,
    check_features,
    check_no_zero_function,
    check_pairs,
)
from raffia.data import open_source
from raffia.error_bars import ErrorBars, like
from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.metrics import relative_error, relative_errors
from raffia.preparation import Preparation
from raffia.regression import (
    Dual,
    FeatureStream,
    NormalEquations,
    RidgePath,
    Solution,
    Solver,
    Statistics,
    Streamed,
    Workspace,
    arriving,
    available_memory,
    choose_solver,
    direct_solution,
    dual_ridge_for,
    joined,
    left_out_ridge,
    one_channel,
    ridge_for,
    statistics_of,
)
from raffia.saving import FOUND, VALUES, content_of, restore
from raffia.spaces import Grid, Nodes, Space, Vectors, resample
from raffia.streaming import fit_batches
from raffia.tuning import GradientSearch, History, Search, objective_for
from raffia.uncertainty import Noise, noise_of

SEARCHED = 2**13  # pairs that a search looks at, at most


class RandomFeatureModel(Preparation, ErrorBars, RegressorMixin, BaseEstimator):
    """Learn a map between function spaces from pairs (a_i, y_i): one convex least-squares problem for α ∈ R^m.

    Training is done in float64 whatever the data are, because the normal equations need it; prediction in the precision of
    its input. Functions are arrays (n, *grid), grid axes last; NumPy in gives NumPy out, a tensor in gives a tensor out.

    Parameters
    ----------
    feature_map
        The random feature pair (φ, μ).
    n_features
        m, the number of random features.
    ridge
        λ of the normal equations (G + λI) α = b; 0 is the minimum-norm least-squares solution; "auto" is the one of the least
        leave-one-function-out error, kept in `ridge_` with its error in `loo_error_`.
    solver
        How to solve them; None chooses by sizes and memory, by the table in `docs/solvers.md`, and `solution_.solver` says what.
    batch_size
        Samples whose features are in memory at once; None chooses from `memory_budget`.
    random_state
        The seed of θ. Feature j is a function of (random_state, j): models with more features extend those with fewer.
    device
        Where to compute; None is where the data are. Data too large for it stay where they are and are sent in batches.
    memory_budget
        Bytes that features may take while fitting and predicting; None is 1 GiB on a CPU and 8 GiB on a GPU. The Gram
        matrix, 8 m² bytes and a few copies of it while solving, comes on top.
    points
        Train on so many points along an axis, if the data have more: coefficients do not depend on resolution, as long as inner
        products have converged, which is checked, with a warning if they have not. "auto" takes the fewest that serve; None all.
    output
        The space of the outputs: a Domain, a Mesh, Vectors, Channels of one. None is that of the inputs, with as many channels as y has,
        or numbers where y has one a sample. Features that are functions need the outputs where the inputs are; numbers do not.
    normalize
        Whether to subtract the mean of inputs and outputs and divide by their standard deviation, one pair of numbers for each channel
        or component, found by the first call of fit or partial_fit and kept in `input_scaling_` and `output_scaling_`.
    """

    equations_: Statistics
    ridge_: float
    loo_error_: float
    noise_: Noise
    history_: History

    def __init__(
        self,
        feature_map: FeatureMap,
        n_features: int = 1024,
        ridge: float | Literal["auto"] = 0.0,
        solver: Solver | None = None,
        batch_size: int | None = None,
        random_state: int = 0,
        device: str | torch.device | None = None,
        memory_budget: int | None = None,
        points: int | Literal["auto"] | None = None,
        output: Space | None = None,
        normalize: bool = False,
    ) -> None:
        self.feature_map = feature_map
        self.n_features = n_features
        self.ridge = ridge
        self.solver = solver
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device
        self.memory_budget = memory_budget
        self.points = points
        self.output = output
        self.normalize = normalize

    def fit(self, a: Any, y: Any = None) -> "RandomFeatureModel":
        """Train on the pairs (a_i, y_i), forgetting all earlier ones.

        Without y, `a` is the path of a file, a `Source` or any iterable of batches (a, y), read a batch at a time in bounded memory (see
        `raffia.streaming.fit_batches`). Dask arrays, or xarray's, are fitted where they lie (see `raffia.distributed.fit`).
        """
        if y is None and isinstance(a, (np.ndarray, Tensor, list)) and len(a) and not isinstance(a[0], tuple):
            raise RaffiaError(
                "fit requires y to be passed, but the target y is None: pass fit(a, y), or a source of batches alone."
            )
        if y is None:
            return fit_batches(self, open_source(a) if isinstance(a, (str, os.PathLike)) else a)
        if distributed.applies(a):
            return distributed.fit(self, a, y)
        a, y = (values.values if type(values).__module__.startswith("xarray") else values for values in (a, y))
        self._forget()
        self._learn(a, y, whole=True)
        self._solve()
        return self

    def __sklearn_tags__(self) -> Tags:
        """Vectors or functions in, several of them out."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.required = True
        tags.regressor_tags.poor_score = True  # ours is at most 0: minus a relative error
        tags.input_tags.two_d_array = isinstance(self.feature_map.domain, Vectors)
        return tags

    def partial_fit(self, a: ArrayLike, y: ArrayLike) -> "RandomFeatureModel":
        """Add pairs to those already seen; the model becomes the one that `fit` gives on all of them, when next used.

        (With `normalize`, in the units that the first pairs have.)
        """
        if hasattr(self, "output_grid_") and not hasattr(self, "equations_"):
            raise RaffiaError(
                "partial_fit cannot continue: this model was saved without its statistics. "
                "Save it with model.save(path, statistics=True), or call fit on all the data."
            )
        if self.ridge == "auto":
            raise RaffiaError(
                "ridge='auto' leaves out one sample at a time, so it needs all of them: call fit, or pass a number."
            )
        begun = hasattr(self, "equations_")
        try:
            self._learn(a, y, whole=False)
        except Exception:
            if not begun:
                self._forget()  # the units of pairs that were refused
            raise
        return self

    def predict(self, a: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """F(a_i; α) on the grid of a, whatever grid the model was trained on.

        With `return_std`, also the standard deviation of y at each point, see `raffia.uncertainty`. With scalar-valued features
        the outputs are on the grid of the training outputs, or if that was also the inputs', interpolated to the grid of a.
        """
        inputs = self._inputs(a)
        mean = like(a, self._mean(inputs))
        return (mean, like(a, self._std(inputs))) if return_std else mean

    def tune(self, a: ArrayLike, y: ArrayLike, search: Search | None = None) -> "RandomFeatureModel":
        """Set the hyperparameters of the feature map and the ridge to the best found on these data, and train on all of them.

        A search (None is `GradientSearch()`) looks at small models on a coarse grid, with parts of the data held out; the ridge is
        then found for all features, on a fifth of the data held out (or one at a time, for scalar features that outnumber the samples),
        with the error there in `held_out_error_`. What was tried stays in `history_`.
        """
        self._forget()
        inputs, outputs, grid, scalar = self._prepared(a, y)
        if len(inputs) < 8:
            raise RaffiaError(f"tune holds out a part of the data, so it needs 8 pairs or more; got {len(inputs)}.")
        theta, sizes = self._theta(inputs), self._sizes(outputs, grid)
        some_a, some_y = (f[:SEARCHED].to(theta.device) for f in (inputs, outputs))
        some_sizes = None if sizes is None else sizes[:SEARCHED].to(theta.device)
        objective = objective_for(
            self.feature_map, some_a, some_y, grid, seed=self.random_state, target=self.n_features, sizes=some_sizes
        )
        self.history_ = (search or GradientSearch()).run(objective)
        found = {name: value for name, value in self.history_.best.parameters.items() if name != "ridge"}
        self.feature_map = clone(self.feature_map)
        self.set_params(**found)
        stream = self._stream(self._theta(inputs), grid, scalar)
        if scalar and 2 * len(inputs) <= self.n_features:
            budget = self._workspace(theta.device).budget
            self.ridge, error = dual_ridge_for(Streamed(stream, ((inputs, outputs),), budget), sizes)
        else:
            self.ridge, error = ridge_for(stream, inputs, outputs, max(1, len(inputs) // 5), sizes)
        self.fit(a, y)
        self.held_out_error_ = error
        return self

    def compose(self, a: Array, times: int) -> Array:
        """F ∘ … ∘ F (a), `times` times: a learnt flow over one step gives the flow over many (eqn:semigroup)."""
        check_count("times", times)
        for _ in range(times):
            a = like(a, self._mean(self._inputs(a)))
        return a

    def score(self, a: ArrayLike, y: ArrayLike) -> float:
        """Minus the mean relative L² error of the predictions, so that higher is better."""
        errors = self.errors(a, y)
        plain = self.output_grid_.size == 1 and not self.normalize and not isinstance(self.feature_map.domain, Vectors)
        return -relative_error(y, torch.as_tensor(self.predict(a))) if plain else -float(errors.mean())

    def errors(self, a: ArrayLike, y: ArrayLike) -> Tensor:
        """The relative L² error of the prediction for each pair; of numbers, relative to their root mean square.

        Where a model normalises, numbers, vectors and several channels count in units of their standard deviations over the training
        data: always predicting their means has error 1.
        """
        outputs, inputs, scale = as_tensor("y", self._tabular_target(y)), self._inputs(a), self._output_scaling.scale
        check_pairs(inputs, outputs)
        truth, guess, grid = outputs / scale.to(outputs), self._mean(inputs) / scale.to(inputs), self._nodes_of(inputs)
        if truth.shape != guess.shape:
            raise RaffiaError(f"y must have the shape of the predictions, {tuple(guess.shape)}; got {tuple(truth.shape)}.")
        if self._in_deviations(grid):
            return grid.norm(truth.double() - guess.double()).cpu() / grid.volume**0.5
        if grid.size > 1:
            return relative_errors(truth, guess, grid)
        return (guess - truth).abs().flatten().double().cpu() / truth.double().cpu().square().mean().sqrt()

    def save(self, path: io.Path, statistics: bool = False) -> None:
        """Write one file that `raffia.load` needs and nothing else; with `statistics`, `partial_fit` can go on after loading.

        θ is not stored: it follows from `random_state`. Nor is `device`: where to compute is for the reader to say.
        """
        _ = self.solution_
        io.write(path, content_of(self, statistics))

    @property
    def solution_(self) -> Solution:
        """The coefficients and how the solver found them."""
        if "_solution" not in self.__dict__:
            self._solve()
        self._check_unchanged()
        return self._solution

    @property
    def coef_(self) -> Tensor:
        """α: (m,), or (m, points) in embedded coordinates when features are scalar and outputs are functions."""
        return self.solution_.coef

    def _forget(self) -> None:
        for learnt in ("equations_", "output_grid_", *FOUND, *VALUES, "n_features_in_", "_solution", "_pairs", "_settings"):
            self.__dict__.pop(learnt, None)

    def _learn(self, a: ArrayLike, y: ArrayLike, whole: bool) -> None:
        """Assemble the statistics that the solver wants; `whole` says that no more pairs will come, so that rules may count them."""
        earlier = getattr(self, "equations_", None)
        inputs, outputs, grid, scalar = self._prepared(a, y)
        theta = self._theta(inputs)
        if earlier is not None:
            self._check_unchanged()
        if earlier is not None and (scalar or isinstance(earlier, Streamed)) and grid != self.output_grid_:
            raise RaffiaError(f"y must stay on the grid of the first batch, {self.output_grid_.shape}; got {grid.shape}.")
        stream = self._stream(theta, grid, scalar)
        rows = len(inputs) * (1 if scalar else one_channel(grid).size)
        kind = type(earlier) if earlier is not None else self._statistics(rows, theta.device, whole, scalar)
        if whole or kind is Streamed:
            inputs, outputs = inputs.clone(), outputs.clone()  # kept: what the caller does to its arrays must not matter
        equations = statistics_of(kind, stream, inputs, outputs, self._workspace(theta.device).budget)
        check_features(equations)
        total = equations if earlier is None else earlier + equations
        for stale in ("_solution", "noise_", "_pairs"):
            self.__dict__.pop(stale, None)
        self.equations_ = total
        self.input_grid_, self.output_grid_ = self.feature_map.domain.grid_of(inputs), grid
        self._settings = self._fingerprint()
        if whole:
            self._pairs = (inputs, outputs)

    def _statistics(self, rows: int, device: torch.device, whole: bool, scalar: bool) -> type[Statistics]:
        if self.solver is not None:
            return self.solver.statistics
        if not whole:
            return NormalEquations
        if self.ridge == "auto":
            return Streamed if scalar and 2 * rows <= self.n_features else NormalEquations
        self._chosen = choose_solver(self.n_features, rows, self.ridge, available_memory(device))
        return self._chosen.statistics

    def _solve(self) -> None:
        if not hasattr(self, "equations_"):
            raise NotFittedError("this RandomFeatureModel is not fitted yet: call fit(a, y) first.")
        equations = self.equations_
        ridge = self._automatic_ridge() if self.ridge == "auto" else self.ridge
        solver = self.solver
        if solver is None and isinstance(equations, Streamed):
            solver = Dual() if self.ridge == "auto" else self._chosen
        if solver is None:
            assert isinstance(equations, NormalEquations)
            self._solution = direct_solution(equations, ridge)
        else:
            self._solution = solver.solve(equations, ridge)
        self.ridge_ = ridge

    def _automatic_ridge(self) -> float:
        """The ridge of the least leave-one-function-out error; keeps that error, and the noise level that comes with it."""
        sizes = self._sizes(self._pairs[1], self.output_grid_)
        check_no_zero_function(self._pairs[1] if sizes is None else sizes[:, None])
        if isinstance(self.equations_, Streamed) and len(self._pairs[0]) == self.equations_.n_rows:
            ridge, self.loo_error_ = dual_ridge_for(self.equations_, sizes)
            return ridge
        path = RidgePath(self._normal_equations("ridge='auto'"))
        stream = self._stream(self._theta(self._pairs[0]), self.output_grid_, self._numbers(self._pairs[0]))
        ridge, left_out = left_out_ridge(path, stream, *self._pairs, sizes)
        self.loo_error_ = float(left_out.errors.mean())
        if self.equations_.rhs.ndim == 1:
            self.noise_ = noise_of(left_out, self.output_grid_)
        return ridge

    def _mean(self, inputs: Tensor) -> Tensor:
        """Predictions in the units of the data, from normalised inputs."""
        trained, device = self._combination(inputs), self._theta(inputs).device
        scalar, grid = self._numbers(inputs), one_channel(self.feature_map.domain.grid_of(inputs))
        size = self._workspace(device).predict_size(16 if scalar else max(grid.size, inputs[0].numel()))
        parts = (part for part in inputs.split(size))
        if inputs.device == device:
            outputs = joined(len(inputs), (trained(part) for part in parts))
        else:
            sent = arriving(((part,) for part in parts), device)
            outputs = joined(len(inputs), (trained(part).to(inputs.device) for (part,) in sent))
        if scalar:
            outputs = self.output_grid_.unembed(outputs.reshape(len(inputs), -1)).reshape(len(inputs), *self.output_grid_.shape)
            there, target = one_channel(self.output_grid_), self._nodes_of(inputs)
            if target != self.output_grid_ and isinstance(there, Grid) and isinstance(grid, Grid):
                outputs = resample(outputs, there, grid)
        outputs = outputs.reshape(len(inputs), *self._nodes_of(inputs).shape)
        return self._output_scaling.undo(outputs) if self.normalize else outputs

    def _stream(self, theta: Tensor, grid: Nodes, scalar: bool = False) -> FeatureStream:
        return self._workspace(theta.device).stream(self.feature_map, theta, grid, scalar)

    def _combination(self, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """The trained operator on the grid of the inputs; kept, so that predicting one input at a time is fast."""
        grid, theta = self.feature_map.domain.grid_of(inputs), self._theta(inputs)
        key = (grid, theta.dtype, theta.device, self.solution_)
        kept, trained = self.__dict__.get("_trained", (None, None))
        if kept is None or any(p is not q and p != q for p, q in zip(key[:3], kept[:3], strict=True)) or kept[3] is not key[3]:
            trained = self.feature_map.combination(theta, self.solution_.coef.to(theta) / self.n_features, grid)
            self._trained = (key, trained)
        return trained

    def _workspace(self, device: torch.device) -> Workspace:
        return Workspace(self.n_features, device, self.batch_size, self.memory_budget)


def load(path: io.Path, classes: Iterable[type] = (), device: str | torch.device | None = None) -> RandomFeatureModel:
    """Read a model written by `RandomFeatureModel.save`; `classes` names feature maps and solvers of your own."""
    content = io.read(path, classes)
    try:
        model = RandomFeatureModel(**content["parameters"] | {"device": device})
        whole = restore(model, content)
    except (KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise RaffiaError(f"{os.fspath(path)} is a raffia file, but it does not hold a model.")
    return model
