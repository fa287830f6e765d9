"""Pairs whose outputs may be wrong: their leave-one-out errors are far outside those of the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Dataset
from raffia.metrics import Sizes
from raffia.model.posterior import left_out_errors
from raffia.surrogate.cross_validation import Fold
from raffia.surrogate.plan import Choice

SPREADS = 3.3  # robust standard deviations of the logarithms of errors, beyond which an error is far outside the rest
LEAST_RATIO = 3.0  # times the median error: smaller errors are never far outside
FEWEST = 20  # errors, below which none can be called unusual
MOST_LEFT_OUT = 4096  # pairs that are left out in turn to look for wrong ones
MOST_SHARE = 0.1  # of the pairs: more of them are no outliers, but a part of the distribution
MOST_FOLDS = 3  # that are trained again without the outliers
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
    error_with: float | None = None
    """The mean relative error on the other test pairs, of models trained with the outliers and without them."""
    error_without: float | None = None

    @property
    def words(self) -> str:
        """A warning for the user: which samples, how unusual they are, what is gained without them, and what to type."""
        rows = ",".join(map(str, self.rows))
        ratios = ", ".join(f"{ratio:.0f}" for ratio in self.ratios)
        gained = ""
        if self.error_with is not None and self.error_without is not None:
            gained = (
                f" Without them, the mean error on the others is {self.error_without:.3g} instead of {self.error_with:.3g}."
            )
        return (
            f"the outputs of some samples may be wrong (index {rows}): their leave-one-out errors are {ratios} times the median "
            f"error.{gained} Look at these samples; to leave them out, pass --drop {rows} (drop={self.rows})."
        )


def unusual(errors: Float[Tensor, "n *output"]) -> tuple[list[int], list[float]]:
    """Return the indices of errors far larger than the others, in norm or at a point, largest first, and their ratios to the median.

    At a point errors are compared with those of the other functions at the same point.
    """
    flat = errors.detach().double().cpu().reshape(len(errors), -1)
    if len(flat) < FEWEST:
        return [], []
    pointwise = flat.abs().quantile(0.75, dim=0)
    pointwise = pointwise.clamp(min=max(FLOOR * float(pointwise.square().mean().sqrt()), torch.finfo(flat.dtype).tiny))
    scores = torch.stack([flat.norm(dim=1), (flat.abs() / pointwise).amax(1)], 1)
    logs = scores.clamp(min=torch.finfo(flat.dtype).tiny).log()
    middle = logs.median(0).values
    spread = 1.4826 * (logs - middle).abs().median(0).values
    above = logs - middle
    far = ((above > SPREADS * spread) & (above > torch.tensor(LEAST_RATIO).log())).any(1)
    ratios = above.amax(1).exp()
    rows = [row for row in ratios.argsort(descending=True).tolist() if far[row]]
    return ([], []) if len(rows) > MOST_SHARE * len(flat) else (rows, [float(ratios[row]) for row in rows])


def find_outliers(choice: Choice, data: Dataset, train: Sequence[int], folds: Sequence[Fold]) -> Outliers | None:
    """Look for them among the test pairs of folds and, by closed formulas, among the pairs that the choice was trained on."""
    errors = {row: error for fold in folds for row, error in zip(fold.rows, fold.errors, strict=True)}
    if len(errors) < len(data) <= MOST_LEFT_OUT:
        left_out = left_out_errors(choice.joined().trained_)
        if left_out is not None and len(left_out) == len(train):
            errors |= dict(zip(train, left_out, strict=True))
    rows = sorted(errors)
    size = float(data.y.double().square().mean().sqrt())
    if not rows or float(torch.stack([errors[row].abs().max() for row in rows]).max()) < ROUNDING * size:
        return None
    places, ratios = unusual(torch.stack([errors[row].double().cpu() for row in rows]))
    if not places:
        return None
    named = [rows[place] for place in places]
    part = data.part(named)
    return Outliers(named, part, part.y.double() - torch.stack([errors[row].double().cpu() for row in named]), ratios)


def without_them(
    outliers: Outliers, choice: Choice, data: Dataset, folds: Sequence[Fold], held: bool, sizes: Sizes
) -> Outliers:
    """Measure what is gained: train again without the outliers, and compare errors on the other test pairs.

    Test pairs are `held` out from the data, or else other data.
    """
    dropped = set(outliers.rows)
    before, after = [], []
    for fold in folds[:MOST_FOLDS]:
        apart = dropped | set(fold.rows) if held else dropped
        rest = [row for row in range(len(data)) if row not in apart]
        kept = [place for place, row in enumerate(fold.rows) if not held or row not in dropped]
        if not kept:
            continue
        test, grid = fold.test.part(kept), fold.test.output_space.grid_of(fold.test.y)
        model = choice.repeated(data.a[rest], data.y[rest])
        before.append(sizes.errors(test.y, fold.predicted[kept], grid).relative)
        after.append(sizes.errors(test.y, model.predict(test.a), grid).relative)
    means = [float(torch.cat(errors).mean()) if errors else None for errors in (before, after)]
    return replace(outliers, error_with=means[0], error_without=means[1])
