"""The result of a fit: a model, its estimated errors and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.metrics import Errors
from raffia.model import RandomFeatureModel
from raffia.model.trained import WorkPlan
from raffia.surrogate.entries import Contest
from raffia.surrogate.outliers import Outliers
from raffia.surrogate.rollouts import Rollout
from raffia.tuning import History


@dataclass(frozen=True, kw_only=True)
class Surrogate:
    """What `raffia.fit` returns: a trained model, its estimated errors, and warnings.

    Attributes
    ----------
    model
        The trained `RandomFeatureModel`.
    errors
        The relative L² error of each pair that was tested, (n,). An error is raised if there were too few pairs to test any.
    baselines
        The mean errors of simpler methods on the same pairs.
    contest
        Every candidate that was compared, with its error.
    notes
        Warnings, in sentences.
    outliers
        Pairs whose outputs may be wrong.
    rollout
        For trajectories: errors after 1, 2, … steps.
    n_train
        The number of pairs of the final training.
    test
        The pairs that were tested.
    predicted
        Predictions of them, (n, *output).
    measured
        All of their errors.
    plan
        What was done within the budget. With it and the same seed, `raffia.fit` gives the same model.

    Examples
    --------
    See `examples/plot_01_first_surrogate.py` in the gallery.

    >>> import raffia
    >>> from raffia.problems import Burgers
    >>> surrogate = raffia.fit(Burgers(fine_points=64).dataset(30, points=32, seed=0), "linear")
    >>> surrogate.errors.shape
    torch.Size([30])
    """

    model: RandomFeatureModel
    n_train: int
    test: Dataset | None
    """The pairs that its errors are of, if there were any."""
    rows: list[int] | None
    """Their numbers in the data, where they were held out from it."""
    predicted: Tensor | None
    measured: Errors | None
    """All errors: relative ones, in units of deviations, and both for each channel or component."""
    simpler: dict[str, Errors]
    """The errors, on the same pairs, of what needs no features: always the mean of the training outputs, the input itself where it lives
    in the space of the outputs, the best linear map. Where memory does not hold all pairs, mean and map are of 512 of them."""
    split: str
    contest: Contest | None
    history: History | None
    seconds: float = 0.0
    by_blocks: float | None = None
    """The mean relative error on blocks of consecutive rows held out, where rows follow one another and pairs were held out at random."""
    in_order: bool = False
    """Whether rows of the data follow one another, as was noticed, or said with blocks."""
    groups: Sequence[object] | None = None
    """The label of each pair of `test`, where whole groups were held out."""
    notes: list[str] = field(default_factory=list)
    """What is to be known of these errors, in sentences."""
    rollout: Rollout | None = None
    """How the model does when it is applied again and again, where pairs are steps of trajectories."""
    in_turn: bool = False
    """Whether the errors are of all pairs, each predicted by a model that was trained without it."""
    outliers: Outliers | None = None
    """Pairs whose outputs may be wrong."""
    plan: WorkPlan | None = None
    """What was done within the budget; with it and the same seed, `raffia.fit` gives the same model."""

    @property
    def errors(self) -> Tensor:
        """The relative L² error of each prediction, ‖F(a) − y‖ / ‖y‖; a tenth of the usual norm of outputs stands in for smaller ones."""
        if self.measured is None:
            raise RaffiaError("surrogate.errors is empty: there were too few pairs to test any. Fit more pairs, or pass test=.")
        return self.measured.relative

    @property
    def n_pairs(self) -> int:
        """How many pairs of the data were used, for training or for the errors."""
        return self.n_train if self.in_turn else self.n_train + len(self.rows or [])

    @property
    def baselines(self) -> dict[str, float]:
        """The mean relative errors of simpler predictions, by name."""
        return {name: float(errors.relative.mean()) for name, errors in self.simpler.items()}

    def half_widths(self, level: float) -> list[float]:
        """How far the band of `model.band` reaches to either side of predictions: a number, or one for each channel or component."""
        width, scale = self.model.band(level).width, self.model.output_scaling_.scale
        return [width] if scale is None else (width * scale).flatten().tolist()
