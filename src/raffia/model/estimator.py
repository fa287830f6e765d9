"""The random feature model F(a; α) = (1/m) Σ_j α_j φ(a; θ_j) as a scikit-learn estimator (def:rfm)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from torch import Tensor

from raffia.constraints import Constraint
from raffia.data import Array
from raffia.features.base import FeatureMap
from raffia.model import cluster, file
from raffia.model.accumulator import Accumulator
from raffia.model.conformal import ConformalBand, band_of
from raffia.model.export import export
from raffia.model.inputs import inputs_of, pairs_of
from raffia.model.novelty import warning_of
from raffia.model.operator import Operator, elsewhere
from raffia.model.posterior import Posterior
from raffia.model.preprocessing import prepare
from raffia.model.pruning import pruned
from raffia.model.search import tuned
from raffia.model.settings import Settings
from raffia.model.trained import FOLDS, HELD_OUT, LEFT_OUT, FittedAttribute, Trained
from raffia.model.training import train
from raffia.model.vector_operator import FlatOperator
from raffia.regression import Solver
from raffia.spaces import Domain, Mesh, Space
from raffia.storage import archive
from raffia.transforms import outside_transforms
from raffia.tuning import History, Search
from raffia.validation import check_count


@dataclass
class _State:
    """What a model holds beside its parameters; training replaces all of it at once."""

    trained: Trained | None = None
    sums: Accumulator | None = None
    """Pairs that partial_fit has added and nobody has solved for yet."""
    history: History | None = None
    operator: Operator | None = None
    posterior: Posterior | None = None

    def operator_of(self, trained: Trained, settings: Settings) -> Operator:
        """The operator, made again where it is to compute elsewhere."""
        settings.check_same(trained.settings)
        if self.operator is None or self.operator.settings.resources != settings.resources:
            self.operator = Operator(trained, settings)
        return self.operator

    def posterior_of(self, operator: Operator) -> Posterior:
        """The error bars of an operator, whose noise level is kept."""
        if self.posterior is None or self.posterior.operator is not operator:
            self.posterior = Posterior(operator)
            self.trained = replace(operator.trained, noise=self.posterior.known().noise)
        return self.posterior

    def __getstate__(self) -> dict[str, Any]:
        """What a file with statistics would hold: data and what was kept for speed stay behind."""
        light = self.trained and self.trained.light(statistics=True)
        return {"trained": light, "sums": self.sums, "history": self.history, "operator": None, "posterior": None}

    def __deepcopy__(self, memo: object) -> "_State":
        return replace(self)


class RandomFeatureModel(RegressorMixin, BaseEstimator):
    """Learn a map between function spaces from pairs (a_i, y_i): one convex least-squares problem for α ∈ R^m.

    Training is done in float64 whatever the data are, because the normal equations need it; prediction in the precision of
    its input. Functions are arrays (n, *grid), grid axes last; NumPy in gives NumPy out, a tensor in gives a tensor out.

    Parameters
    ----------
    feature_map
        The random feature pair (φ, μ).
    n_features
        m, the number of random features; `math.inf` trains with their kernel, where it has a closed form, in a few times 8 n² bytes.
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
        or component, found by the first call of fit or partial_fit and kept in `input_scaling_` and `output_scaling_`. With "function",
        the mean function of outputs is subtracted, which features that know no places cannot make where a source is fixed.
    coefficients
        "ordinary" is a number for each feature; "modal" one for each feature and mode of the outputs, α_j(k) of ⟨φ(a; θ_j), ψ_k⟩, with
        the input as one more feature, for features that are functions. Its ridge is a number, or one a mode, as "auto" finds them.
    constraints
        What outputs are known to obey, as [Conserved(), Positive()], from `raffia.constraints`: equalities hold for every input on every
        grid, inequalities at collocation points of the training inputs alone; `solution_.guarantees` says what was reached, and where.
    """

    solution_ = FittedAttribute(lambda trained: trained.solution, "The coefficients and how the solver found them.")
    coef_ = FittedAttribute(lambda trained: trained.solution.coef, "α: (m,), or (m, columns) in embedded coordinates.")
    ridge_ = FittedAttribute(lambda trained: trained.ridge, "λ, as given or as found.")
    loo_error_ = FittedAttribute(
        lambda trained: trained.errors.get(LEFT_OUT), "Mean leave-one-out error.", "it comes with ridge='auto'."
    )
    fold_error_ = FittedAttribute(
        lambda trained: trained.errors.get(FOLDS), "k-fold error, in squares.", "it comes with batches."
    )
    held_out_error_ = FittedAttribute(
        lambda trained: trained.errors.get(HELD_OUT), "Mean error on pairs held out.", "none were."
    )
    noise_ = FittedAttribute(
        lambda trained: trained.noise, "The noise level.", "it comes with ridge='auto' or return_std=True."
    )
    equations_ = FittedAttribute(
        lambda trained: trained.statistics, "The statistics of the pairs.", "it was saved without them."
    )
    input_grid_ = FittedAttribute(lambda trained: trained.frame.input_nodes, "Where the training inputs were.")
    output_grid_ = FittedAttribute(lambda trained: trained.frame.output_nodes, "Where the training outputs were.")
    input_scaling_ = FittedAttribute(lambda trained: trained.frame.input_scaling, "How inputs are normalised.")
    output_scaling_ = FittedAttribute(lambda trained: trained.frame.output_scaling, "How outputs are normalised.")
    schema_ = FittedAttribute(lambda trained: trained.schema, "How files are read.", "it was not trained on a file.")

    def __init__(
        self,
        feature_map: FeatureMap,
        n_features: int | float = 1024,
        ridge: float | Tensor | Literal["auto"] = 0.0,
        solver: Solver | None = None,
        batch_size: int | None = None,
        random_state: int = 0,
        device: str | torch.device | None = None,
        memory_budget: int | None = None,
        points: int | Literal["auto"] | None = None,
        output: Space | None = None,
        normalize: bool | Literal["function"] = False,
        coefficients: Literal["ordinary", "modal"] = "ordinary",
        constraints: Sequence[Constraint] = (),
    ) -> None:
        self.feature_map, self.n_features, self.random_state = feature_map, n_features, random_state
        self.ridge, self.solver = ridge, solver
        self.device, self.batch_size, self.memory_budget = device, batch_size, memory_budget
        self.points, self.output, self.normalize = points, output, normalize
        self.coefficients, self.constraints = coefficients, constraints

    def fit(self, a: Any, y: Any = None, **how: Any) -> "RandomFeatureModel":
        """Train on the pairs (a_i, y_i), forgetting all earlier ones.

        Without y, `a` is the path of a file, `Pairs` or any iterable of batches (a, y), read a batch at a time in bounded memory; `how`
        has the options of `raffia.model.batches.fit_batches`. Dask arrays, or xarray's, are fitted where they lie, with the options
        of `raffia.model.cluster.fit_arrays`; with `scheduler=…`, what `a()` opens is fitted by workers there, see `fit_file`.
        """
        self._state = _State()
        self.settings.check()
        if y is not None and not how and not cluster.applies(a, y):
            a, y = pairs_of(self, a, y, first=True)
        return self.adopt(train(self.settings, a, y, **how))

    def partial_fit(self, a: Any, y: Any) -> "RandomFeatureModel":
        """Add pairs to those already seen; when next used, the model is that of all (with `normalize`, in the units of the first)."""
        state, settings = self._states, self.settings
        settings.check()
        sums = state.sums or (Accumulator.resume(state.trained) if state.trained else Accumulator(settings.frozen()))
        settings.check_same(sums.settings)
        a, y = pairs_of(self, a, y, first=sums.frame is None)
        self._state = _State(sums=replace(sums, settings=settings.frozen()).add(a, y))
        return self

    def tune(self, a: Any, y: Any, search: Search | None = None) -> "RandomFeatureModel":
        """Set the hyperparameters of the feature map and the ridge to the best found on these data, and train on all of them.

        A search (None is `GradientSearch()`) looks at small models on a coarse grid; `raffia.model.search` says what it sees, and what
        `held_out_error_` is the error on. What was tried stays in `history_`.
        """
        self._state, settings = _State(), self.settings
        settings.check()
        trained, history = tuned(settings, prepare(settings, *pairs_of(self, a, y, first=True)), search)
        self.set_params(feature_map=clone(trained.settings.feature_map), ridge=trained.settings.ridge)
        self._state = _State(trained, history=history)
        return self

    def predict(self, a: Any, return_std: bool = False) -> Any:
        """F(a_i; α) on the grid of a, whatever grid the model was trained on.

        With `return_std`, also the standard deviation of y at each point. With scalar-valued features outputs are on the grid of the
        training outputs, or if that was also the inputs', interpolated to the grid of a. Of a Dask array, predictions are one too; of
        a tensor, they can be differentiated as it can, forwards and backwards.
        """
        operator = self._operator()
        if cluster.applies(a):
            return cluster.predict_blocks(Operator(operator.trained.light(), operator.settings), a)
        inputs = operator.inputs(inputs_of(self, a))
        mean = like(a, operator.mean(inputs))
        return (mean, like(a, self._posterior(operator).std(inputs))) if return_std else mean

    def novelty(self, a: Array) -> Array:
        """How unlike the training inputs each of these is: below 1 they are like them, above 1 predictions are extrapolations.

        Parameters
        ----------
        a
            Inputs, (n, *grid), on any grid.

        Returns
        -------
        array of shape (n,)
            The distance from the training inputs, relative to what left-out training inputs reach; see `raffia.model.novelty`.
        """
        operator = self._operator()
        return like(a, self._posterior(operator).novelty(operator.inputs(inputs_of(self, a))))

    def novelty_warning(self, a: Array) -> str:
        """Which of these inputs lie outside the training data, in a sentence; empty where none does, or where it is not known."""
        return "" if self.trained_.novelty is None else warning_of(torch.as_tensor(self.novelty(a)))

    def at(self, grid: Any = None, prior: Any = None) -> FlatOperator:
        """The operator of flat vectors, with derivatives, on a grid (None is that of the training); of ξ ~ N(0, I), with a prior."""
        return FlatOperator(self._operator(), grid, prior)

    def export(self, path: archive.Path, grid: Any = None) -> float:
        """Write a program for one grid, by `torch.export` (.pt2) or as ONNX (.onnx); return its relative difference to `predict`."""
        return export(self._operator(), path, grid)

    def compose(self, a: Array, times: int) -> Array:
        """F ∘ … ∘ F (a), `times` times: a learnt flow over one step gives the flow over many (eqn:semigroup)."""
        check_count("times", times)
        return self.rollout(a, times, every=times)[:, -1]

    def rollout(self, a: Array, steps: int, every: int = 1) -> Array:
        """The path a, F(a), F(F(a)), …, with a state after each `every` of the `steps`: (n, 1 + steps // every, *state).

        States of one channel may have an axis for it, (n, 1, *grid), as in files of trajectories; then those of the path have it too.
        """
        space = self.feature_map.domain
        if not space.has_components and getattr(a, "ndim", 0) == 2 + space.ndim and a.shape[1] == 1:
            return self.rollout(a[:, 0], steps, every)[:, :, None]
        return like(a, self._operator().path(inputs_of(self, a), steps, every))

    def states(self, a: Array) -> Iterator[Array]:
        """The states of that path, from the newest in a on, one after the other and without end. See `raffia.model.time_stepping`."""
        return (like(a, state) for state in self._operator().states(inputs_of(self, a)))

    def score(self, a: Any, y: Any) -> float:
        """Minus the mean relative error of the predictions, so that higher is better."""
        return -float(self.errors(a, y).detach().mean())

    def errors(self, a: Any, y: Any) -> Tensor:
        """The relative error of each prediction, by the measure of the model, in `raffia.metrics`; of normalised outputs, in deviations."""
        return self.compare(a, y)[1]

    def compare(self, a: Any, y: Any) -> tuple[Tensor, Tensor]:
        """Predictions and their errors at once."""
        return self._operator().compare(*pairs_of(self, a, y))

    def sample_posterior(self, a: Array, count: int, seed: int = 0) -> Array:
        """Draws of the function F(a_i) from its posterior: (count, n, *grid)."""
        check_count("count", count)
        operator = self._operator()
        return like(a, self._posterior(operator).sample(operator.inputs(inputs_of(self, a)), count, seed))

    def conformal(self, a: Array, y: Array, level: float = 0.9) -> ConformalBand:
        """A band that holds a whole new function with probability `level` or more, by pairs that training did not see."""
        return self._posterior(self._operator()).band(inputs_of(self, a), y, level)

    def band(self, level: float = 0.9) -> ConformalBand:
        """Such a band by the pairs that `raffia.fit` held out, as the model was before it was trained on them too."""
        return band_of(self._operator().centre, self.trained_.scores, level)

    def log_marginal_likelihood(self, noise: float | None = None) -> float:
        """log p(y) of the linear-Gaussian model, each embedded coordinate an observation; `noise=None` takes the likeliest."""
        return Posterior(self._operator()).log_marginal_likelihood(noise)

    def on(self, space: Domain | Mesh) -> "RandomFeatureModel":
        """The same trained operator for functions given on a mesh instead of a grid, or the other way round.

        The mesh must lie in the domain that the model was trained on: `Mesh(nodes, domain=model.feature_map.domain)`.
        """
        return of(elsewhere(self._operator(), space))

    def prune(self, m: int) -> "RandomFeatureModel":
        """A model of the m features that are worth the most, fitted again: from a pool of several times m, about half the error."""
        return of(pruned(self._operator().trained, m))

    def save(self, path: archive.Path, statistics: bool = False) -> None:
        """Write one file that `raffia.load` needs and nothing else; with `statistics`, `partial_fit` can go on after loading."""
        file.write(path, replace(self.trained_, settings=self._operator().settings), statistics)

    def adopt(self, trained: Trained) -> "RandomFeatureModel":
        """Become the model that was trained so, forgetting all else."""
        self._state = _State(trained)
        if trained.frame.input.tabular:
            self.n_features_in_ = trained.frame.input_nodes.size
        return self

    @property
    def settings(self) -> Settings:
        """The parameters, as a value."""
        return Settings.of(self.get_params(deep=False))

    @property
    def trained_(self) -> Trained:
        """All that training found."""
        state = self._states
        if state.sums is not None:
            state = self._state = _State(state.sums.finish())
        if state.trained is None:
            raise NotFittedError("this RandomFeatureModel is not fitted yet: call fit(a, y) first.")
        return state.trained

    @property
    def history_(self) -> History:
        """What the search of `tune` tried."""
        if self._states.history is None:
            raise AttributeError("this RandomFeatureModel has no history_: it was not tuned.")
        return self._states.history

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to predict with."""
        return self._states.trained is not None or self._states.sums is not None

    def __sklearn_tags__(self) -> Tags:
        """Vectors or functions in, several of them out."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.target_tags.required = True
        tags.regressor_tags.poor_score = True  # ours is at most 0: minus a relative error
        tags.input_tags.two_d_array = self.feature_map.domain.tabular
        return tags

    @property
    def _states(self) -> _State:
        return self.__dict__.setdefault("_state", _State())

    @outside_transforms()
    def _operator(self) -> Operator:
        """The trained operator with the parameters of today, compared once a call with those it was trained with."""
        return self._states.operator_of(self.trained_, self.settings)

    def _posterior(self, operator: Operator) -> Posterior:
        """Error bars; the noise level that they need becomes part of what training found."""
        return self._states.posterior_of(operator)


def of(trained: Trained, device: str | torch.device | None = None) -> RandomFeatureModel:
    """The model that was trained so."""
    return RandomFeatureModel(**trained.settings.arguments | {"device": device}).adopt(trained)  # type: ignore[arg-type]


def load(path: archive.Path, classes: Iterable[type] = (), device: str | torch.device | None = None) -> RandomFeatureModel:
    """Read a model written by `RandomFeatureModel.save`; `classes` names feature maps and solvers of your own."""
    return of(file.read(path, classes), device)


def like(given: object, values: Tensor) -> Array:
    """As an array if the user gave an array, on the device of the tensor if a tensor."""
    return values.to(given.device) if isinstance(given, Tensor) else values.numpy(force=True)
