"""The sentences of a report: the errors of a model, a comparison with simple predictions, and the limits of these errors."""

from collections.abc import Mapping

import numpy as np
import torch

from raffia.metrics import Relative
from raffia.surrogate import Contest, Surrogate
from raffia.surrogate.baselines import INPUT, LINEAR, MEAN

FEW_HELD_OUT = 30
"""Samples below which the uncertainty of their mean error is reported."""
LITTLE_LEARNED, HARDLY_BETTER, UNEVEN = 0.5, 0.9, 5
"""Shares of the error of simple predictions above which the report warns; the ratio of worst to median error above which it does."""


def sentence(text: str) -> str:
    """With a capital at its beginning, and a full stop."""
    return f"{text[0].upper()}{text[1:].removesuffix('.')}."


def in_words(error: float) -> str:
    """A relative error in per cent."""
    if not np.isfinite(error):
        return "not finite"
    return f"{100 * error:,.0f} %" if error >= 0.995 else f"{100 * error:.2g} %" if error >= 1e-6 else f"{100 * error:.0e} %"


def ridge_in_words(ridge: float | torch.Tensor, digits: str) -> str:
    """A ridge; of several, the smallest and the largest."""
    ends = [float(ridge)] if not torch.is_tensor(ridge) else [float(end(ridge[1:])) for end in (torch.min, torch.max)]
    return " … ".join(format(end, digits) for end in dict.fromkeys(ends))


def band_in_words(surrogate: Surrogate, level: float) -> str:
    """The half-widths of the band of this level, in the units of the outputs."""
    widths = surrogate.half_widths(level)
    reach = (
        f"{min(widths):.3g} to {max(widths):.3g}, by component," if len(widths) > 4 else ", ".join(f"{w:.3g}" for w in widths)
    )
    each = f" (one for each of {len(widths)} components)" if 1 < len(widths) <= 4 else ""
    return (
        f"band of {100 * level:g} %: with at least this probability a new output lies, as a whole, within ± {reach}{each} of its "
        f"prediction, by {len(surrogate.model.trained_.scores)} pairs that were not trained on"
    )


def contest_title(contest: Contest) -> str:
    """What the table of a contest shows."""
    return f"contest, on {contest.n_validation} pairs that were not trained on"


def cases(errors: np.ndarray) -> dict[str, int]:
    """Which sample is the best, the median (the lower of two) and the worst; the median and the best only where there are enough."""
    order = np.argsort(errors, kind="stable")  # NaN last, so a failure is the worst
    if len(order) == 1:
        return {"only": int(order[0])}
    median = {"median": int(order[(len(order) - 1) // 2])} if len(order) > 2 else {}
    return {"best": int(order[0]), **median, "worst": int(order[-1])}


def headline(errors: np.ndarray, n_train: int | None, by_blocks: float | None) -> str:
    """The errors in two sentences, and those of blocks of rows where these are the honest ones."""
    trained = f"Trained on {n_train} samples. " if n_train is not None else ""
    which = cases(errors)
    finite = errors[np.isfinite(errors)]
    if not len(finite):
        return f"{trained}On {len(errors)} samples held out no prediction was finite: do not use this model."
    if len(errors) == 1:
        return f"{trained}On the one sample held out the prediction is off by {in_words(float(errors[0]))} of the size of the truth."
    half = f"for half of them {in_words(float(errors[which['median']]))} or less, " if "median" in which else ""
    text = (
        f"{trained}On {len(errors)} samples, predicted by models that were not trained on them, the error is "
        f"{in_words(float(finite.mean()))} of the size of the truth on average, {half}at worst {in_words(float(finite.max()))}."
    )
    failed = len(errors) - len(finite)
    text += f" {failed} of them had no finite error and are left out of these numbers." if failed else ""
    if by_blocks is None:
        return text
    return f"{text} Rows of the file follow one another: where blocks of them are held out, predictions are off by {in_words(by_blocks)}."


def verdict(errors: np.ndarray, deviations: float, simple: Mapping[str, float]) -> list[str]:
    """What the mean error means, and how it compares with the mean errors of simple predictions."""
    finite = errors[np.isfinite(errors)]
    text = [f"{Relative.formula}: 0 is perfect; always predicting {Relative.naive} has error 1, that is 100 %."]
    if not len(finite):
        return text
    if np.isfinite(deviations):
        text.append(
            f"In units of deviations, of how much each output varies, the mean error is {deviations:.2g}; always predicting the training "
            "mean has about 1."
        )
    mean = simple.get(MEAN, 1.0)
    if finite.mean() > LITTLE_LEARNED * mean:
        than = "of always predicting the training mean" if MEAN in simple else "of not learning"
        text.append(f"This model has learned little: its mean error is not much below that {than}.")
    if finite.mean() > HARDLY_BETTER * simple.get(INPUT, np.inf):
        text.append("It is hardly better than taking the input for the output.")
    if finite.mean() > HARDLY_BETTER * (linear := simple.get(LINEAR, np.inf)) and linear < LITTLE_LEARNED * mean:
        text.append("It is hardly better than the best linear map, which is simpler.")
    median, worst = float(np.sort(finite)[(len(finite) - 1) // 2]), float(finite.max())
    if worst > UNEVEN * median > 0:
        text.append(
            f"The worst error is {worst / median:.0f} times the median: look at that sample below before you trust the mean."
        )
    return text


def caveats(errors: np.ndarray, split: str) -> list[str]:
    """What the errors do not say."""
    finite = errors[np.isfinite(errors)]
    points = [
        "The errors are those of samples that were not trained on. For inputs that look different from these (larger, "
        "rougher, another regime) they may be larger: model.novelty(a) says which inputs those are, and raffia predict warns of them.",
        "The truth is what the file says. Whatever error its outputs have (of a solver, a grid, a measurement) comes on top.",
        "The error is an average over each output. A small one can hide a large error in a small part: see the pointwise errors.",
    ]
    if 1 < len(finite) < FEW_HELD_OUT:
        spread = float(finite.std(ddof=1)) / len(finite) ** 0.5
        points.append(
            f"Only {len(errors)} samples were held out: their mean error is itself uncertain, by about ± {in_words(spread)}, and the "
            "worst of more samples would be worse."
        )
    if len(errors) == 1:
        points.append("One sample was held out: its error says little about the next one.")
    return [*points, f"How the samples were held out: {split}."]
