"""Predictions of pairs by models that were trained without them, and the error bars that they give."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Dataset
from raffia.model import RandomFeatureModel
from raffia.model.error_bars import ErrorBars
from raffia.model.novelty import FEWEST_INPUTS, Novelty, evenly
from raffia.model.splitting import folds_of, groups_of
from raffia.spaces import interpolate
from raffia.surrogate.plan import Choice
from raffia.tuning.workers import side_by_side

FEW, FEW_VECTORS = 200, 1000
"""Pairs below which all are left out in turn, and the same of vectors; of more, one fifth is held out once."""
FOLDS, FEWER_FOLDS, FOLDS_OF_VECTORS = 10, 5, 30
"""Folds in which they are left out in turn; of many large outputs; and of vectors, where errors fall steeply with the number of pairs."""
LARGE, MANY = 128, 40
"""Values of an output, and pairs, above which training takes long."""
FEWEST_ERRORS, MOST_ERRORS = 3, 1024  # pairs that error bars are calibrated on


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of cross-validation: the test pairs, the training pairs, and the model trained on these."""

    model: RandomFeatureModel
    train: Dataset
    test: Dataset
    rows: list[int]
    """The indices of the test pairs in the data."""

    @cached_property
    def predicted(self) -> Tensor:
        """The predictions for the test inputs."""
        return self.model.predict(self.test.a)

    @property
    def errors(self) -> Float[Tensor, "n *output"]:
        """y − F(a) of the test pairs."""
        return self.test.y - self.predicted


def left_in_turn(data: Dataset) -> bool:
    """Return whether there are so few pairs that each is held out once."""
    return len(data) < (FEW_VECTORS if data.domain.tabular else FEW)


def left_out_count(data: Dataset) -> int:
    """Return the number of pairs that `cross_validated` holds out: all, or one fifth of many."""
    return len(data) if left_in_turn(data) else len(data) // FEWER_FOLDS


def cross_validated(choice: Choice, data: Dataset, labels: Tensor | None, seed: int) -> list[Fold]:
    """Train a model without each fold in turn and return the folds. For many pairs, one fifth is held out once.

    Pairs with equal `labels` are in the same fold. Hyperparameters are searched again in every fold, except for many pairs of vectors:
    these have more folds.
    """
    vectors, in_turn = data.domain.tabular, left_in_turn(data)
    large = len(data) > MANY and data.y[0].numel() > LARGE
    count = FEWER_FOLDS if not in_turn else FOLDS_OF_VECTORS if vectors else FEWER_FOLDS if large else FOLDS
    splits = folds_of(data.a, count, seed, "cross-validation", labels)[: None if in_turn else 1]
    again = choice.refitted if vectors and len(data) > MANY else choice.repeated

    def fold(sides: tuple[Tensor, Tensor]) -> Fold:
        train, test = data.part(sides[0].tolist()), data.part(sides[1].tolist())
        return Fold(again(train.a, train.y), train, test, sides[1].tolist())

    return side_by_side(fold, splits)


def calibrate(model: RandomFeatureModel, data: Dataset, folds: Sequence[Fold]) -> None:
    """Attach what tells inputs unlike those of the training `data`, and error bars by the errors on folds, if there are any."""
    if len(groups_of(data.a).unique()) < FEWEST_INPUTS:
        return
    frame = model.trained_.frame
    novelty, left_out = Novelty.of(interpolate(data.a, data.domain.grid_of(data.a), frame.input_nodes), data.domain)
    tests = sum(len(fold.rows) for fold in folds)
    bars = None
    if tests >= FEWEST_ERRORS:
        rows = evenly(tests, MOST_ERRORS)
        errors = torch.cat([fold.errors for fold in folds])[rows]
        if tests == len(data) == len(left_out):  # inputs that were left out in turn
            known = left_out[[row for fold in folds for row in fold.rows]]
        else:
            known = novelty(torch.cat([fold.test.a for fold in folds])[rows], data.domain, frame.input_nodes)
        bars = ErrorBars.of(interpolate(errors, data.output_space.grid_of(errors), frame.output_nodes), known)
    model.adopt(replace(model.trained_, novelty=novelty, error_bars=bars))
