"""The random feature model F(a; α) = (1/m) Σ_j α_j φ(a; θ_j) as a scikit-learn estimator (def:rfm)."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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
from raffia.model.error_bars import ConformalBand, band_of
from raffia.model.novelty import warning_of
from raffia.model.operator import FittedState, Operator, Posterior, elsewhere
from raffia.model.preprocessing import prepare
from raffia.model.program_export import export
from raffia.model.pruning import pruned
from raffia.model.search import tuned
from raffia.model.settings import Settings
from raffia.model.trained import FOLDS, HELD_OUT, LEFT_OUT, FittedAttribute, Trained
from raffia.model.training import inputs_of, like, on_cluster, pairs_of, train
from raffia.model.vector_operator import FlatOperator
from raffia.regression import Solver
from raffia.spaces import Domain, Mesh, Space
from raffia.storage import archive
from raffia.transforms import outside_transforms
from raffia.tuning import History, Search
from raffia.validation import check_count


class RandomFeatureModel(RegressorMixin, BaseEstimator):
    """Learn a map between function spaces from pairs (a_i, y_i), by one linear least-squares problem for α ∈ R^m.

    Functions are arrays (n, *grid), with the grid axes last. NumPy arrays in give NumPy arrays out, tensors give tensors. Training is in
    float64, which the normal equations need; prediction is in the precision of its input.

    Parameters
    ----------
    feature_map
        The random feature pair (φ, μ).
    n_features
        m, the number of random features. `math.inf` trains with their kernel, if it has a closed form, in a few times 8 n² bytes.
    ridge
        λ of the normal equations (G + λI) α = b; 0 is the minimum-norm least-squares solution. "auto" minimises the
        leave-one-function-out error; the result is in `ridge_`, with its error in `loo_error_`.
    solver
        The solver of these equations. None chooses by sizes and memory, see `docs/solvers.md`; the choice is in `solution_.solver`.
    batch_size
        The number of samples whose features are in memory at once; None derives it from `memory_budget`.
    random_state
        The seed of θ. Feature j is a function of (random_state, j): models with more features extend those with fewer.
    device
        The device that computes; None is that of the data. Data too large for it are sent in batches.
    memory_budget
        Bytes for features while fitting and predicting; None is 1 GiB on a CPU and 8 GiB on a GPU. The Gram matrix needs 8 m² bytes, and a
        few copies of it while solving, in addition.
    points
        Train on this number of points along an axis, if the data have more. Coefficients do not depend on the resolution as long as inner
        products have converged; a warning tells if they have not. "auto" takes the smallest sufficient number, None all points.
    output
        The space of the outputs: a Domain, a Mesh, Vectors or Channels. None is the space of the inputs with the channels of y, or numbers
        if y has one value for each sample. Features that are functions need inputs and outputs on the same nodes; scalar ones do not.
    normalize
        Whether to subtract the mean of inputs and outputs and divide by their standard deviation, for each channel or component. The first
        call of fit or partial_fit estimates them; they are in `input_scaling_` and `output_scaling_`. "function" subtracts the mean
        function of the outputs, which features that treat all positions alike cannot represent.
    coefficients
        "ordinary" has one α_j for each feature. "modal", for features that are functions, has one for each feature and mode of the
        outputs, α_j(k) of ⟨φ(a; θ_j), ψ_k⟩, with the input as an additional feature. Its ridge is a number, or a vector with one for each
        mode, as "auto" chooses it.
    constraints
        Known properties of the outputs from `raffia.constraints`, such as [Conserved(), Positive()]. Equalities hold for every input on
        every grid, inequalities at collocation points of the training inputs only. `solution_.guarantees` describes what holds where.

    Examples
    --------
    >>> from raffia import Burgers, FourierFeatures, RandomFeatureModel
    >>> data = Burgers(fine_points=256).dataset(60, points=64, seed=0)
    >>> model = RandomFeatureModel(FourierFeatures(), n_features=128, ridge="auto").fit(data.a[:50], data.y[:50])
    >>> model.predict(data.a[50:]).shape
    torch.Size([10, 64])
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

    def fit(self, a: Any, y: Any = None, **options: Any) -> "RandomFeatureModel":
        """Train on pairs (a_i, y_i), forgetting all earlier ones.

        Parameters
        ----------
        a, y
            Inputs and outputs, (n, *grid). Without y, `a` is the path of a file, `Pairs` or an iterable of batches (a, y), which are read a
            batch at a time in bounded memory. Dask arrays are fitted block by block on their workers.
        **options
            For batches, those of `raffia.model.batches.fit_batches`; for Dask arrays, those of `raffia.model.cluster.fit_arrays`. With
            `scheduler=…`, workers of that cluster open and fit the file, see `raffia.model.cluster.fit_file`.

        Returns
        -------
        RandomFeatureModel
            The model itself.
        """
        self._state = FittedState()
        self.settings.check()
        if y is not None and not options and not on_cluster(a, y):
            a, y = pairs_of(self, a, y, first=True)
        return self.adopt(train(self.settings, a, y, **options))

    def partial_fit(self, a: Any, y: Any) -> "RandomFeatureModel":
        """Add pairs to those before. They are solved when the model is next used; `normalize` keeps the first scaling."""
        state, settings = self._states, self.settings
        settings.check()
        sums = state.sums or (Accumulator.resume(state.trained) if state.trained else Accumulator(settings.frozen()))
        settings.check_same(sums.settings)
        a, y = pairs_of(self, a, y, first=sums.frame is None)
        self._state = FittedState(sums=replace(sums, settings=settings.frozen()).add(a, y))
        return self

    def tune(self, a: Any, y: Any, search: Search | None = None) -> "RandomFeatureModel":
        """Choose the hyperparameters of the feature map and the ridge by a search, and train on all pairs.

        Parameters
        ----------
        a, y
            Inputs and outputs.
        search
            A search of `raffia.tuning`; None is `GradientSearch()`. It compares small models on a coarse grid.

        Returns
        -------
        RandomFeatureModel
            The model itself. `history_` holds what was tried, and `held_out_error_` the error on pairs that the search did not use.
        """
        self._state, settings = FittedState(), self.settings
        settings.check()
        trained, history = tuned(settings, prepare(settings, *pairs_of(self, a, y, first=True)), search)
        self.set_params(feature_map=clone(trained.settings.feature_map), ridge=trained.settings.ridge)
        self._state = FittedState(trained, history=history)
        return self

    def predict(self, a: Any, return_std: bool = False) -> Any:
        """Predict outputs F(a_i; α) on the grid of a, which may differ from the training grid.

        Parameters
        ----------
        a
            Inputs, (n, *grid). A Dask array gives a Dask array. Predictions of a tensor have derivatives, forwards and
            backwards.
        return_std
            Also return the standard deviation of y at each point.

        Returns
        -------
        array, or a pair of arrays
            Predictions and, with `return_std`, their standard deviations. With scalar features they are on the grid of the
            training outputs; if that was also the grid of the training inputs, they are interpolated to the grid of a.
        """
        operator = self._operator()
        if on_cluster(a):
            return cluster.predict_blocks(Operator(operator.trained.light(), operator.settings), a)
        inputs = operator.inputs(inputs_of(self, a))
        if words := operator.resolution_warning(inputs):
            warnings.warn(words, stacklevel=2)
        mean = like(a, operator.mean(inputs))
        return (mean, like(a, self._posterior(operator).std(inputs))) if return_std else mean

    def novelty(self, a: Array) -> Array:
        """The distance of each input from the training inputs: below 1 they are similar, above 1 predictions are extrapolations.

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
        """A warning that names inputs outside the training data; empty if there are none or if it is unknown."""
        return "" if self.trained_.novelty is None else warning_of(torch.as_tensor(self.novelty(a)))

    def at(self, grid: Any = None, prior: Any = None) -> FlatOperator:
        """The model as an operator of flat vectors with derivatives; `docs/use.md` has its methods.

        `grid` is a number of points, a grid, or None for that of the training. With a `prior`, vectors are coordinates ξ ~
        N(0, I) of inputs.
        """
        return FlatOperator(self._operator(), grid, prior)

    def export(self, path: archive.Path, grid: Any = None) -> float:
        """Write a program for one grid, for torch (.pt2) or ONNX (.onnx). Returns its relative difference from `predict`."""
        return export(self._operator(), path, grid)

    def compose(self, a: Array, times: int) -> Array:
        """Apply the model `times` times to inputs (n, *grid): the flow over several time steps (eqn:semigroup)."""
        check_count("times", times)
        return self.rollout(a, times, every=times)[:, -1]

    def rollout(self, a: Array, steps: int, every: int = 1) -> Array:
        """Apply a model of one time step again and again, from states (n, *grid) or (n, channels, *grid).

        The result has the start and the states after every `every` steps, (n, 1 + steps // every, *state). If states of one
        channel have an axis for it, so has the result.
        """
        space = self.feature_map.domain
        if not space.has_components and getattr(a, "ndim", 0) == 2 + space.ndim and a.shape[1] == 1:
            return self.rollout(a[:, 0], steps, every)[:, :, None]
        return like(a, self._operator().path(inputs_of(self, a), steps, every))

    def states(self, a: Array) -> Iterator[Array]:
        """Yield the states of a rollout one after the other, without end; none is stored."""
        return (like(a, state) for state in self._operator().states(inputs_of(self, a)))

    def score(self, a: Any, y: Any) -> float:
        """Minus the mean relative error of predictions of y, (n, *grid), so that higher is better, as in scikit-learn."""
        return -float(self.errors(a, y).detach().mean())

    def errors(self, a: Any, y: Any) -> Tensor:
        """The error of each prediction, (n,), by the error measure of the model; see `raffia.metrics`."""
        return self.compare(a, y)[1]

    def compare(self, a: Any, y: Any) -> tuple[Tensor, Tensor]:
        """Predictions and their errors."""
        return self._operator().compare(*pairs_of(self, a, y))

    def conformal(self, a: Array, y: Array, level: float = 0.9) -> ConformalBand:
        """A band that holds a whole new function with probability at least `level`, from pairs (n, *grid) not used in training.

        `band(a)` returns the lower and the upper edge, and `band.covers(a, y)` which functions lie inside.
        """
        return self._posterior(self._operator()).band(inputs_of(self, a), y, level)

    def band(self, level: float = 0.9) -> ConformalBand:
        """A band as that of `conformal`, from the pairs that `raffia.fit` held out or, if few, cross-validated."""
        return band_of(self._operator().centre, self.trained_.scores, level)

    def on(self, space: Domain | Mesh) -> "RandomFeatureModel":
        """The same trained operator for functions on a mesh instead of a grid, or on a grid instead of a mesh.

        The mesh must lie in the domain of the training: `Mesh(nodes, domain=model.feature_map.domain)`.
        """
        return of(elsewhere(self._operator(), space))

    def prune(self, m: int) -> "RandomFeatureModel":
        """A model of the m most useful features, fitted again without the data.

        From a pool of several times m, it has about half the error of m random ones.
        """
        return of(pruned(self._operator().trained, m))

    def save(self, path: archive.Path, statistics: bool = False) -> None:
        """Write a file that `raffia.load` reads. With `statistics`, `partial_fit` can continue after loading."""
        file.write(path, replace(self.trained_, settings=self._operator().settings), statistics)

    def adopt(self, trained: Trained) -> "RandomFeatureModel":
        """Replace the result of training by another one."""
        self._state = FittedState(trained)
        if trained.frame.input.tabular:
            self.n_features_in_ = trained.frame.input_nodes.size
        return self

    @property
    def settings(self) -> Settings:
        """The parameters as a value."""
        return Settings.of(self.get_params(deep=False))

    @property
    def trained_(self) -> Trained:
        """The result of training."""
        state = self._states
        if state.sums is not None:
            state = self._state = FittedState(state.sums.finish())
        if state.trained is None:
            raise NotFittedError("this RandomFeatureModel is not fitted yet: call fit(a, y) first.")
        return state.trained

    @property
    def history_(self) -> History:
        """The trials of the search of `tune`."""
        if self._states.history is None:
            raise AttributeError("this RandomFeatureModel has no history_: it was not tuned.")
        return self._states.history

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model is fitted."""
        return self._states.trained is not None or self._states.sums is not None

    def __sklearn_tags__(self) -> Tags:
        """Vectors or functions in, several of them out."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.target_tags.required = True
        tags.regressor_tags.poor_score = True  # scores are at most 0: minus a relative error
        tags.input_tags.two_d_array = self.feature_map.domain.tabular
        return tags

    @property
    def _states(self) -> FittedState:
        return self.__dict__.setdefault("_state", FittedState())

    @outside_transforms()
    def _operator(self) -> Operator:
        """The trained operator with the current parameters, which are checked against those of training."""
        return self._states.operator_of(self.trained_, self.settings)

    def _posterior(self, operator: Operator) -> Posterior:
        """Error bars; the noise level that they need is stored with the trained model."""
        return self._states.posterior_of(operator)


def of(trained: Trained, device: str | torch.device | None = None) -> RandomFeatureModel:
    """The model of a training result."""
    return RandomFeatureModel(**trained.settings.arguments | {"device": device}).adopt(trained)  # type: ignore[arg-type]


def load(path: archive.Path, classes: Iterable[type] = (), device: str | torch.device | None = None) -> RandomFeatureModel:
    """Read a model written by `RandomFeatureModel.save`.

    Parameters
    ----------
    path
        The file.
    classes
        User-defined feature maps and solvers that the file may contain.
    device
        The device of the model; None is that of the data.

    Returns
    -------
    RandomFeatureModel
        The fitted model. For an example see `examples/plot_02_own_file.py` in the gallery.
    """
    return of(file.read(path, classes), device)
