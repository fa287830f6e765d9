"""Stable models of a time step: they are tested on trajectories far longer than the data, and conserve what the data conserve."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from raffia.constraints import conserved_by
from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.model.accumulator import Accumulator
from raffia.model.estimator import of
from raffia.surrogate.plan import Choice
from raffia.surrogate.rollouts import LONGER, Paths, many, stays_bounded

RAISED = (10, 100, 1e4, 1e6)  # times: how much larger ridges are taken, to keep a model bounded
SO_THAT = "so that values stay bounded step after step."


def stabilise(choice: Choice, others: Iterable[tuple[str, Choice]], paths: Paths, steps: int) -> tuple[Choice, str]:
    """Return the chosen model if its values stay bounded when it is applied again and again, else another; and a note on the change.

    Models are tried in this order: the parts of a sum of two models, larger ridges, and the `others`, which are trained when reached.
    If none is bounded, the choice is returned. Models start from states of `paths` and run for ten times `steps`.
    """
    followed = LONGER * steps
    some = slice(many(paths, followed))
    if stays_bounded(choice.joined(), paths, followed, some):
        return choice, ""
    for words, other in _near(choice, others):
        if stays_bounded(other.joined(), paths, followed, some):
            return other, f"{words}, {SO_THAT}"
    return choice, ""


def conserving(choice: Choice, train: Dataset) -> str:
    """Constrain models of time steps, in the training to come, to conserve the integrals that the data conserve; and say which."""
    along, output = train.along, train.output_space
    if along is None or choice.given_constraints:
        return ""
    each = output.channels // along.horizon
    newest = [(along.window - 1) * each + channel for channel in range(each)] * along.horizon
    kept = conserved_by(train.a, train.y, output, along.trajectory, newest)
    if kept is None:
        return ""
    choice.constrain([kept])
    return f"{kept.in_words}: that is so in the data, and in all that the model predicts."


def _near(choice: Choice, others: Iterable[tuple[str, Choice]]) -> Iterator[tuple[str, Choice]]:
    """Yield alternatives to the choice, the most similar first."""
    alone = choice
    if choice.partner is not None:
        single = of(replace(choice.model.trained_, partner=None, share=0.0), choice.model.device)
        alone = replace(choice, model=single, partner=None, candidates=choice.candidates[:1])
        yield "the better of two models is taken alone", alone
    before = alone.model.trained_
    for factor in RAISED:
        if before.statistics is None:
            break
        settings = replace(before.settings, ridge=factor * before.ridge)
        try:
            after = replace(Accumulator.resume(before), settings=settings).finish()
        except RaffiaError:
            break
        model = of(replace(after, settings=before.settings, noise=before.noise, pairs=before.pairs), choice.model.device)
        yield f"ridges are {factor:.0f} times as large", replace(alone, model=model)
    for name, other in others:
        yield f"{name} features are taken", other
