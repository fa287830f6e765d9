"""Pairs whose outputs may be wrong: models trained without them predict them far worse than the others.

Wrong outputs spoil the model that is to find them. So the pairs with the largest errors are first left out of the training together.
Those that are then no better than before are named, and so on, until no other pair stands out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Dataset
from raffia.metrics import Sizes
from raffia.model import RandomFeatureModel
from raffia.model.operator import left_out_errors
from raffia.model.splitting import folds_of
from raffia.surrogate.cross_validation import Fold
from raffia.surrogate.plan import Choice

SPREADS = 3.0  # robust standard deviations of the logarithms of errors, beyond which an error is far outside the rest
LEAST_SPREAD = (
    0.37  # of logarithms: errors that are all alike count as spread so far, so that none below three medians is far outside
)
FEWEST = 20  # errors, below which none can be called unusual
MOST_LEFT_OUT = 4096  # pairs that are left out in turn to look for wrong ones
MOST_SHARE = 0.1  # of the pairs: left out at first, and named at most, as more are a part of the distribution
PASSES = 3
JUDGED = 5  # features that are fitted to the data are judged by one in so many of the other pairs
ROUNDING = 1e-6  # of the usual size of outputs: smaller errors are no sign of wrong samples
FLOOR = 1e-3  # of the usual error: points where all errors are smaller count as having this one


@dataclass(frozen=True, eq=False)
class Outliers:
    """Pairs with unusual errors, the most unusual first."""

    rows: list[int]
    """Their indices in the data."""
    data: Dataset
    predicted: Tensor
    """By models that were trained without them."""
    ratios: list[float]
    """Their errors over the median error."""
    error_with: float
    """The mean relative error on the other pairs, of models trained with the outliers and without them."""
    error_without: float

    @property
    def words(self) -> str:
        """A warning for the user: which samples, how unusual they are, what is gained without them, and what to type."""
        rows = ",".join(map(str, self.rows))
        ratios = ", ".join(f"{ratio:.0f}" for ratio in self.ratios)
        gained = ""
        if self.error_without < self.error_with:
            gained = (
                f" Without them, the mean error on the others is {self.error_without:.3g} instead of {self.error_with:.3g}."
            )
        return (
            f"the outputs of some samples may be wrong (index {rows}): their leave-one-out errors are {ratios} times the median "
            f"error.{gained} Look at these samples; to leave them out, pass --drop {rows} (drop={self.rows})."
        )


def excess(errors: Float[Tensor, "n *output"], outputs: Float[Tensor, "n *output"]) -> tuple[Tensor, Tensor]:
    """Return how many robust standard deviations each error is above the others, in norm or at a point, and its ratio to the median.

    An error counts as it is and relative to the size of its output: large functions may have large errors, and small ones large relative
    errors. The smaller excess is taken. At a point errors are compared with those of the other functions at the same point.
    """
    e, y = (f.detach().double().cpu().reshape(len(f), -1) for f in (errors, outputs))
    tiny = torch.finfo(e.dtype).tiny
    pointwise = e.abs().quantile(0.75, dim=0)
    pointwise = pointwise.clamp(min=max(FLOOR * float(pointwise.square().mean().sqrt()), tiny))
    sizes = torch.maximum(y.norm(dim=1), (y - e).norm(dim=1)).clamp(min=tiny)
    scores = torch.stack([e.norm(dim=1), (e.abs() / pointwise).amax(1)], 1).clamp(min=tiny)
    logs = torch.stack([scores, scores / sizes[:, None]]).log()
    above = logs - logs.median(1, keepdim=True).values
    spread = (1.4826 * above.abs().median(1, keepdim=True).values).clamp(min=LEAST_SPREAD)
    return (above / spread).amin(0).amax(1), above[0].amax(1).exp()


def unusual(errors: Float[Tensor, "n *output"], outputs: Float[Tensor, "n *output"]) -> list[int]:
    """Return the indices of errors far larger than the others, the largest first."""
    above, ratios = excess(errors, outputs)
    return [row for row in ratios.argsort(descending=True).tolist() if above[row] > SPREADS]


def find_outliers(
    choice: Choice, data: Dataset, train: Sequence[int], folds: Sequence[Fold], sizes: Sizes, seed: int
) -> Outliers | None:
    """Look for samples whose outputs are probably wrong; return None if there are none, or if the errors cannot tell.

    Errors are those of models trained without the sample, by a closed formula or by the `folds` of cross-validation. First the pairs with
    the largest errors are left out together, and errors are computed again. The pairs with unusual errors are left out next, until they
    stay the same, at most `PASSES` times. The `train` rows are those that the `choice` was trained on.

    None is returned for too many or too few pairs, for errors at the level of rounding, and for a model on another grid. It is also
    returned if features are fitted to the data and there are no folds, and if so many errors are unusual that they are no outliers.
    """
    if len(data) > MOST_LEFT_OUT or (choice.fitted_to_data and not folds):
        return None
    if choice.fitted_to_data:
        rows, errors = [row for fold in folds for row in fold.rows], torch.cat([fold.errors for fold in folds]).double().cpu()
    else:
        rows, errors = _left_out(choice, data, sorted({*range(len(data))} - {*train}), seed, choice.joined())
    usual = float(data.y.double().square().mean().sqrt())
    if errors.shape != data.y[rows].shape:  # the model was trained on another grid than that of the data
        return None
    if len(rows) < FEWEST or float(errors.abs().max()) < ROUNDING * usual:
        return None
    before = dict(zip(rows, errors, strict=True))
    order = excess(errors, data.y[rows])[0].argsort(descending=True).tolist()
    apart = [rows[place] for place in order[: int(MOST_SHARE * len(rows))]]
    for _ in range(PASSES):
        rows, errors = _left_out(choice, data, apart, seed)
        places = unusual(errors, data.y[rows])
        named = [rows[place] for place in places]
        if set(named) == set(apart):
            break
        apart = named
    if not 0 < len(named) <= MOST_SHARE * len(data):
        return None
    shared = [place for place, row in enumerate(rows) if row in before and row not in set(named)]
    others = data.part([rows[place] for place in shared])
    grid = data.output_space.grid_of(others.y)
    means = [
        float(sizes.errors(others.y, others.y - left.to(others.y), grid).relative.mean())
        for left in (torch.stack([before[rows[place]] for place in shared]), errors[shared])
    ]
    ratios = excess(errors, data.y[rows])[1][places].tolist()
    part = data.part(named)
    return Outliers(named, part, part.y - errors[places].to(part.y), ratios, *means)


def _left_out(
    choice: Choice, data: Dataset, apart: Sequence[int], seed: int, model: RandomFeatureModel | None = None
) -> tuple[list[int], Tensor]:
    """Return rows and their errors y − F(a), where F is trained without the row itself and without the rows `apart`.

    The errors of the other rows come from leaving out one at a time, if a closed formula exists. Else they come from one split into
    training and test rows. `model` is a model already trained without the rows `apart`, or None to train one.
    """
    rest, errors = [row for row in range(len(data)) if row not in set(apart)], None
    if not choice.fitted_to_data:
        model = model or choice.repeated(data.a[rest], data.y[rest])
        errors = left_out_errors(model.trained_)
    if model is None or errors is None or len(errors) != len(rest):
        train, rest = ([rest[place] for place in side] for side in folds_of(data.a[rest], JUDGED, seed, "outliers")[0])
        model = choice.repeated(data.a[train], data.y[train])
        errors = data.y[rest] - model.predict(data.a[rest])
    if apart:
        errors = torch.cat([errors.to(data.y), data.y[apart] - model.predict(data.a[apart])])
    return [*rest, *apart], errors.double().cpu()
