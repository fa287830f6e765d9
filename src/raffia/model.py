"""The random feature model F(a; α) = (1/m) Σ_j α_j φ(a; θ_j) as a scikit-learn estimator (def:rfm)."""

import os
from collections.abc import Callable, Iterable

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor

from raffia import io
from raffia.checks import Array, as_tensor, check_device, check_function, check_pairs, check_settings
from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, tile_numbers
from raffia.metrics import relative_error
from raffia.regression import Cholesky, NormalEquations, Pseudoinverse, Solution, Solver, assemble
from raffia.spaces import Domain, Grid

ROWS_PER_PRODUCT = 2048  # inner length of one matrix product: long enough for its speed, short enough for the cache


class RandomFeatureModel(RegressorMixin, BaseEstimator):
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
        λ of the normal equations (G + λI) α = b; 0 is the minimum-norm least-squares solution.
    solver
        How to solve them; None is `Pseudoinverse()` for ridge = 0 and `Cholesky()` otherwise.
    batch_size
        Samples whose features are in memory at once; None chooses from `memory_budget`.
    random_state
        The seed of θ. Feature j is a function of (random_state, j): models with more features extend those with fewer.
    device
        Where to compute; None is where the data are.
    memory_budget
        Bytes that features may take while fitting and predicting; None is 1 GiB on a CPU and 8 GiB on a GPU. The Gram
        matrix, 8 m² bytes and a few copies of it while solving, comes on top.
    """

    equations_: NormalEquations
    output_grid_: Grid

    def __init__(
        self,
        feature_map: FeatureMap,
        n_features: int = 1024,
        ridge: float = 0.0,
        solver: Solver | None = None,
        batch_size: int | None = None,
        random_state: int = 0,
        device: str | torch.device | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.feature_map = feature_map
        self.n_features = n_features
        self.ridge = ridge
        self.solver = solver
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device
        self.memory_budget = memory_budget

    def fit(self, a: Array, y: Array) -> "RandomFeatureModel":
        """Train on the pairs (a_i, y_i), forgetting all earlier ones."""
        for learnt in ("equations_", "output_grid_", "_solution"):
            self.__dict__.pop(learnt, None)
        self._learn(a, y)
        self._solve()
        return self

    def partial_fit(self, a: Array, y: Array) -> "RandomFeatureModel":
        """Add pairs to those already seen; the model becomes the one that `fit` gives on all of them, when next used."""
        if hasattr(self, "output_grid_") and not hasattr(self, "equations_"):
            raise RaffiaError(
                "partial_fit cannot continue: this model was saved without its statistics. "
                "Save it with model.save(path, statistics=True), or call fit on all the data."
            )
        self._learn(a, y)
        return self

    def predict(self, a: Array) -> Array:
        """F(a_i; α) on the grid of a, whatever grid the model was trained on.

        With scalar-valued features the outputs are on the grid of the training outputs.
        """
        coef = self.solution_.coef
        inputs = self._inputs(a)
        trained = self._combination(inputs)
        outputs = torch.cat([trained(part) for part in inputs.split(self._predict_size(inputs))])
        if coef.ndim == 2:
            outputs = self.output_grid_.unembed(outputs)
        return outputs.numpy(force=True) if isinstance(a, np.ndarray) else outputs.to(a.device)

    def compose(self, a: Array, times: int) -> Array:
        """F ∘ … ∘ F (a), `times` times: a learnt flow over one step gives the flow over many (eqn:semigroup)."""
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise RaffiaError(f"times must be a positive integer; got {times!r}.")
        for _ in range(times):
            a = self.predict(a)
        return a

    def score(self, a: Array, y: Array) -> float:
        """Minus the mean relative L² error of the predictions, so that higher is better."""
        outputs = as_tensor("y", y)
        check_pairs(as_tensor("a", a), outputs)
        domain = self.feature_map.domain
        grid = domain.grid_of(outputs) if outputs.ndim == 1 + domain.dim else None
        return -relative_error(outputs, self.predict(a), grid)

    def save(self, path: io.Path, statistics: bool = False) -> None:
        """Write one file that `raffia.load` needs and nothing else; with `statistics`, `partial_fit` can go on after loading.

        θ is not stored: it follows from `random_state`. Nor is `device`: where to compute is for the reader to say.
        """
        solution = self.solution_
        if statistics and not hasattr(self, "equations_"):
            raise RaffiaError("statistics=True needs a model that was fitted here or loaded with its statistics.")
        content = {
            "parameters": self.get_params(deep=False) | {"device": None},
            "output_grid": self.output_grid_,
            "solution": vars(solution),
            "statistics": None,
        }
        if statistics:
            content["statistics"] = vars(self.equations_)
        io.write(path, content)

    @property
    def solution_(self) -> Solution:
        """The coefficients and how the solver found them."""
        if "_solution" not in self.__dict__:
            self._solve()
        return self._solution

    @property
    def coef_(self) -> Tensor:
        """α: (m,), or (m, points) in embedded coordinates when features are scalar and outputs are functions."""
        return self.solution_.coef

    def _learn(self, a: Array, y: Array) -> None:
        check_settings(self.n_features, self.ridge, self.batch_size, self.memory_budget)
        inputs, outputs = self._inputs(a).double(), self._moved(as_tensor("y", y)).double()
        check_pairs(inputs, outputs)
        theta = self._theta(inputs)
        grid = self._output_grid(inputs, outputs, theta)
        batch = self._fit_size(grid, inputs.device)
        budget = self._budget(inputs.device)
        equations = assemble(self.feature_map, theta, inputs, outputs, grid, batch, self._tile(inputs.device), budget)
        if hasattr(self, "equations_"):
            if equations.rhs.ndim == 2 and grid != self.output_grid_:
                raise RaffiaError(f"y must stay on the grid of the first batch, {self.output_grid_.shape}; got {grid.shape}.")
            equations = self.equations_.to(inputs.device) + equations
        self.equations_, self.output_grid_ = equations, grid
        self.__dict__.pop("_solution", None)

    def _solve(self) -> None:
        if not hasattr(self, "equations_"):
            raise NotFittedError("this RandomFeatureModel is not fitted yet: call fit(a, y) first.")
        solver = self.solver or (Cholesky() if self.ridge > 0 else Pseudoinverse())
        self._solution = solver.solve(self.equations_, self.ridge)

    def _inputs(self, a: Array) -> Tensor:
        inputs = self._moved(as_tensor("a", a))
        check_function("a", inputs, self.feature_map.domain)
        return inputs

    def _moved(self, values: Tensor) -> Tensor:
        check_device(self.device)
        return values if self.device is None else values.to(self.device)

    def _output_grid(self, inputs: Tensor, outputs: Tensor, theta: Tensor) -> Grid:
        """Function-valued features need y on the grid of a; scalar-valued ones take y on any grid, or numbers."""
        domain = self.feature_map.domain
        if self.feature_map(inputs[:1], theta[:1]).ndim == 2:
            domain = domain if outputs.ndim > 1 else Domain(0)
            check_function("y", outputs, domain)
            return domain.grid_of(outputs)
        check_function("y", outputs, domain)
        if inputs.shape != outputs.shape:
            raise RaffiaError(
                f"a and y must be on one grid; got {tuple(inputs.shape[1:])} and {tuple(outputs.shape[1:])} points. "
                "Resample one of them with raffia.resample."
            )
        return domain.grid_of(outputs)

    def _theta(self, like: Tensor) -> Tensor:
        """θ in the precision and on the device of `like`; drawn once."""
        key = (self.n_features, self.random_state, self.feature_map.theta_shape, like.dtype, like.device)
        if self.__dict__.get("_drawn", (None,))[0] != key:
            self._drawn = (key, self.feature_map.draw(self.n_features, self.random_state).to(like))
        return self._drawn[1]

    def _combination(self, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """The trained operator on the grid of the inputs; kept, so that predicting one input at a time is fast."""
        grid = self.feature_map.domain.grid_of(inputs)
        key = (grid, inputs.dtype, inputs.device, self.solution_)
        kept, trained = self.__dict__.get("_trained", (None, None))
        if kept is None or any(p is not q and p != q for p, q in zip(key[:3], kept[:3], strict=True)) or kept[3] is not key[3]:
            coef = self.solution_.coef.to(inputs) / self.n_features
            trained = self.feature_map.combination(self._theta(inputs), coef, grid)
            self._trained = (key, trained)
        return trained

    def _fit_size(self, grid: Grid, device: torch.device) -> int:
        """Samples per batch: enough rows for a fast product, no more than the budget allows."""
        if self.batch_size is not None:
            return self.batch_size
        budget = self._budget(device)
        allowed = (budget - 4 * self._tile(device)) // (self.n_features * grid.size)
        if allowed < 1:
            need = 32 * self.n_features * grid.size
            raise RaffiaError(
                f"memory_budget={16 * budget} bytes is too small: the features of one sample ({self.n_features} × {grid.size} "
                f"numbers) and room to evaluate them take {need} bytes. Pass memory_budget={need} or more, or fewer n_features."
            )
        wanted = ROWS_PER_PRODUCT if device.type == "cpu" else ROWS_PER_PRODUCT * 32
        return max(1, min(allowed, wanted // grid.size))

    def _budget(self, device: torch.device) -> int:
        """Numbers that features may take: half of the budget, the other half is for what is kept of θ."""
        return (self.memory_budget or default_budget(device)) // 16

    def _tile(self, device: torch.device) -> int:
        """Numbers to evaluate at once; a map may need a few times as many for what it computes on the way."""
        return min(tile_numbers(device), max(1, self._budget(device) // 8))

    def _predict_size(self, inputs: Tensor) -> int:
        """Inputs per batch such that a tile spans 128 features or so."""
        if self.batch_size is not None:
            return self.batch_size
        return max(1, tile_numbers(inputs.device) // (min(self.n_features, 128) * inputs[0].numel()))


def default_budget(device: torch.device) -> int:
    """Bytes for features when the user sets no budget."""
    return 2**30 if device.type == "cpu" else 2**33


def load(path: io.Path, classes: Iterable[type] = (), device: str | torch.device | None = None) -> RandomFeatureModel:
    """Read a model written by `RandomFeatureModel.save`; `classes` names feature maps and solvers of your own."""
    content = io.read(path, classes)
    try:
        model = RandomFeatureModel(**content["parameters"] | {"device": device})
        model.output_grid_ = content["output_grid"]
        model._solution = Solution(**content["solution"])
        if content["statistics"] is not None:
            model.equations_ = NormalEquations(**content["statistics"])
        whole = isinstance(model.feature_map, FeatureMap) and isinstance(model.output_grid_, Grid)
        whole = whole and len(model._solution.coef) == model.n_features
    except (KeyError, TypeError):
        whole = False
    if not whole:
        raise RaffiaError(f"{os.fspath(path)} is a raffia file, but it does not hold a model.")
    return model
