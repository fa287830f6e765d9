"""The errors of a model on held-out pairs, and those of simple predictions for comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from raffia.data import Dataset
from raffia.metrics import Errors, Sizes
from raffia.model import RandomFeatureModel
from raffia.model.error_bars import scores_of
from raffia.model.trained import HELD_OUT
from raffia.surrogate.baselines import baseline_warnings, simple_predictions
from raffia.surrogate.cross_validation import Fold
from raffia.surrogate.holding import Holding, gap_warnings, groups_for, hold

Refitted = Callable[[Tensor, Tensor], RandomFeatureModel]
"""Trains the model on other pairs, with the hyperparameters found."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Predictions of a model for held-out pairs, their errors, and the errors of simpler predictions."""

    sizes: Sizes
    predicted: Tensor | None = None
    measured: Errors | None = None
    simpler: dict[str, Errors] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_blocks: float | None = None

    def on(
        self, folds: Sequence[Fold], linear: Callable[[Dataset], RandomFeatureModel | None], notes: Sequence[str] = ()
    ) -> "Judgement":
        """Return the errors of models on their folds, in the order of rows, and of simple predictions. `notes` precede the warnings."""
        order = torch.tensor([row for fold in folds for row in fold.rows]).argsort()
        truth = torch.cat([fold.test.y for fold in folds])[order]
        predicted = torch.cat([fold.predicted for fold in folds])[order]
        guesses = [simple_predictions(fold.train, fold.test, linear(fold.train)) for fold in folds]
        grid = folds[0].test.output_space.grid_of(truth)
        measured = self.sizes.errors(truth, predicted, grid)
        shared = [name for name in guesses[0] if all(name in guess for guess in guesses)]
        simpler = {name: self.sizes.errors(truth, torch.cat([g[name] for g in guesses])[order], grid) for name in shared}
        warnings = [*notes, *baseline_warnings(measured, simpler)]
        return replace(self, predicted=predicted, measured=measured, simpler=simpler, notes=warnings)

    def beside_blocks(self, refitted: Refitted, data: Dataset, holding: Holding, seed: int) -> "Judgement":
        """Add the error on held-out blocks of consecutive rows, if rows are in order and pairs were held out at random."""
        near, at_random, error = holding.nearness, holding.labels is None, None
        if near is not None and near.in_order and at_random:
            whole = hold(data, len(holding.held), seed, groups_for(None, True, len(data), len(holding.held)))
            train, test = data.part(whole.train), data.part(whole.held)
            predicted, _ = refitted(train.a, train.y).compare(test.a, test.y)
            error = float(self.sizes.errors(test.y, predicted, test.output_space.grid_of(test.y)).relative.mean())
        notes = [*self.notes, *gap_warnings(near, at_random, data.domain.tabular, error)]
        return replace(self, notes=notes, by_blocks=error)

    def attach_to(self, model: RandomFeatureModel, folds: Sequence[Fold]) -> None:
        """Store output norms, the mean error and, for conformal bands, the largest pointwise error of each pair left out of training."""
        trained = replace(model.trained_, sizes=self.sizes)
        if self.measured is not None:
            trained = trained.with_error(HELD_OUT, float(self.measured.relative.mean()))
        if folds:
            truth, predicted = (
                torch.cat(parts) for parts in zip(*((fold.test.y, fold.predicted) for fold in folds), strict=True)
            )
            scale = trained.frame.output_scaling.stretch(torch.ones_like(predicted))
            trained = replace(trained, scores=tuple(scores_of(lambda _: (predicted, scale), predicted, truth).tolist()))
        model.adopt(trained)
