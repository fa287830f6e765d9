"""What is known of the errors of a model: its own on pairs that it had not seen, and beside them those of what is simpler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from raffia.metrics import Errors, Sizes
from raffia.model import RandomFeatureModel
from raffia.model.conformal import scores_of
from raffia.pairs import Dataset
from raffia.surrogate.baselines import baselines, said_of
from raffia.surrogate.holding import Holding, groups_for, hold, told
from raffia.training.trained import HELD_OUT, LEFT_OUT

Refitted = Callable[[Tensor, Tensor], RandomFeatureModel]
"""Trains the model on other pairs, with the hyperparameters found."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is known of the errors of a model: predictions on pairs that it had not seen, their errors, and those of what is simpler."""

    sizes: Sizes
    predicted: Tensor | None = None
    measured: Errors | None = None
    simpler: dict[str, Errors] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_blocks: float | None = None
    left_out: float | None = None
    """What leaving out one training pair at a time says."""

    def on(
        self,
        model: RandomFeatureModel,
        train: Dataset,
        test: Dataset,
        linear: Callable[[], RandomFeatureModel | None],
        notes: Sequence[str] = (),
        note: str = "",
    ) -> "Judgement":
        """That of a model on these pairs, beside what is simpler; `notes` go before what is noticed here."""
        predicted, _ = model.compare(test.a, test.y)
        measured = self.sizes.errors(test.y, predicted, test.output_space.grid_of(test.y))
        simpler = baselines(self.sizes, train, test, linear)
        told = [*notes, *([note] if note else []), *said_of(measured, simpler)]
        left_out = model.trained_.errors.get(LEFT_OUT)
        return replace(self, predicted=predicted, measured=measured, simpler=simpler, notes=told, left_out=left_out)

    def beside_blocks(self, refitted: Refitted, data: Dataset, holding: Holding, seed: int) -> "Judgement":
        """Where rows follow one another and some were held out at random, also the error of blocks of them."""
        near, at_random, error = holding.nearness, holding.labels is None, None
        if near is not None and near.in_order and at_random:
            whole = hold(data, len(holding.held), seed, groups_for(None, True, len(data), len(holding.held)))
            train, test = data.part(whole.train), data.part(whole.held)
            predicted, _ = refitted(train.a, train.y).compare(test.a, test.y)
            error = float(self.sizes.errors(test.y, predicted, test.output_space.grid_of(test.y)).relative.mean())
        notes = [*self.notes, *told(near, at_random, data.domain.tabular, error)]
        return replace(self, notes=notes, by_blocks=error)

    def kept_by(self, model: RandomFeatureModel, test: Dataset | None) -> None:
        """Make the sizes of outputs part of a model, with the mean error and the largest error at a point of each pair, for its bands.

        Features that the training pairs made have more noise than these say: as much more as errors on others are larger.
        """
        trained = replace(model.trained_, sizes=self.sizes)
        if test is not None and self.measured is not None and (predicted := self.predicted) is not None:
            trained = trained.with_error(HELD_OUT, float(self.measured.relative.mean()))
            if model.feature_map.informed and (
                left_out := trained.errors.get(LEFT_OUT)
            ):  # it says too little, and so does the noise
                more = max(1.0, trained.errors[HELD_OUT] / left_out) ** 2
                errors = {name: error for name, error in trained.errors.items() if name != LEFT_OUT}
                trained = replace(trained, errors=errors, noise=None if trained.noise is None else trained.noise * more)
            scale = trained.frame.output_scaling.stretch(torch.ones_like(predicted))
            trained = replace(trained, scores=tuple(scores_of(lambda _: (predicted, scale), test.a, test.y).tolist()))
        model.adopt(trained)
