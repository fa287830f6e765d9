"""The page that `raffia fit` leaves beside a model: what was learned, how well, and what to make of it."""

import os
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch

from raffia import plotting
from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure, Relative
from raffia.pairs import Dataset
from raffia.plotting import Array
from raffia.report.page import Picture, Section, Table, write
from raffia.spaces import Space
from raffia.tuning import History

FEW = 30  # held-out samples, below which their mean says little
MODEL_FILE = "model file"  # the fact that names it
MEAN, LINEAR = "the mean function", "the best linear map"  # what a surrogate's baselines are called
COUNTED = "Samples that training did not see, counted from 0."


def write_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    facts: Mapping[str, str],
    notes: Sequence[str],
    contest: Table | None,
    history: History | None,
    dataset: Dataset,
    predicted: Array,
    errors: Array,
    split: str,
    measure: type[ErrorMeasure] | ErrorMeasure = Relative,
    baselines: Mapping[str, float] = MappingProxyType({}),
    n_train: int | None = None,
    rows: Sequence[int] | None = None,
    band: str | None = None,
) -> None:
    """Write the report as one HTML page; atomic.

    `dataset` is the part held out, with its predictions and their relative errors; `rows` are the numbers of its samples in the file
    they came from; `measure` says what they are relative to,
    `baselines` what simpler predictions have. `facts["model file"]` is the file that
    the instructions name, `notes` what was guessed, `split` how samples were held out, `band` how wide a band around predictions is.
    """
    off = torch.as_tensor(errors).detach().double().cpu().numpy()
    guess = torch.as_tensor(predicted).detach().cpu()
    n = len(dataset)
    if off.shape != (n,) or guess.shape != dataset.y.shape or (rows is not None and len(rows) != n) or n == 0:
        raise RaffiaError(
            f"a report needs one error, one prediction and one row for each of the {n} samples held out, and at least one sample; got "
            f"errors {off.shape}, predicted {tuple(guess.shape)} for y {tuple(dataset.y.shape)}, "
            f"{'no' if rows is None else len(rows)} rows."
        )
    sections = [
        Section(
            "How good it is",
            "errors",
            pictures=_spread(dataset, guess, off),
            text=[*_verdict(off, measure.formula, measure.naive, baselines), *([] if band is None else [_sentence(band)])],
        ),
        Section("Best, median and worst", "samples", COUNTED, pictures=_cases(dataset, guess, off, rows)),
        Section("What was guessed", "guesses", points=list(notes)) if notes else None,
        Section("Contest", "contest", text="What was tried before this model was chosen.", tables=[contest])
        if contest
        else None,
        _search(history) if history and history.trials else None,
        Section("How to use it", "use", text=_shapes(dataset), code=_instructions(facts.get(MODEL_FILE, "model.safetensors"))),
        Section("What these numbers do not say", "caveats", points=_caveats(off, split)),
        Section("Facts", "facts", facts={**facts, "split": split}),
    ]
    write(path, title, _headline(off, n_train), [section for section in sections if section])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def in_words(error: float) -> str:
    """A relative error in per cent."""
    if not np.isfinite(error):
        return "not finite"
    return f"{100 * error:,.0f} %" if error >= 0.995 else f"{100 * error:.2g} %" if error >= 1e-6 else f"{100 * error:.0e} %"


def cases(errors: np.ndarray) -> dict[str, int]:
    """Which sample is the best, the median (the lower of two) and the worst; the median and the best only where there are enough."""
    order = np.argsort(errors, kind="stable")  # NaN last, so a failure is the worst
    if len(order) == 1:
        return {"only": int(order[0])}
    median = {"median": int(order[(len(order) - 1) // 2])} if len(order) > 2 else {}
    return {"best": int(order[0]), **median, "worst": int(order[-1])}


def _headline(errors: np.ndarray, n_train: int | None) -> str:
    trained = f"Trained on {n_train} samples. " if n_train is not None else ""
    which = cases(errors)
    finite = errors[np.isfinite(errors)]
    if not len(finite):
        return f"{trained}On {len(errors)} samples held out no prediction was finite: do not use this model."
    if len(errors) == 1:
        return f"{trained}On the one sample held out the prediction is off by {in_words(float(errors[0]))} of the size of the truth."
    half = f"for half of them by {in_words(float(errors[which['median']]))} or less, " if "median" in which else ""
    text = (
        f"{trained}On {len(errors)} samples held out, which training did not see, predictions are off by {in_words(float(finite.mean()))} "
        f"of the size of the truth on average, {half}at worst by {in_words(float(finite.max()))}."
    )
    failed = len(errors) - len(finite)
    return text + (f" {failed} of them had no finite error and are left out of these numbers." if failed else "")


def _verdict(errors: np.ndarray, formula: str, naive: str, baselines: Mapping[str, float]) -> list[str]:
    finite = errors[np.isfinite(errors)]
    text = [f"{formula}: 0 is perfect; always predicting {naive} has error 1, that is 100 %."]
    if not len(finite):
        return text
    text += [f"On the same samples, {name} has a mean error of {in_words(error)}." for name, error in baselines.items()]
    mean = baselines.get(MEAN, 1.0)
    if finite.mean() > 0.5 * mean:
        than = "of always predicting the mean function" if MEAN in baselines else "of not learning"
        text.append(f"This model has learned little: its mean error is not much below that {than}.")
    if finite.mean() > 0.9 * (linear := baselines.get(LINEAR, np.inf)) and linear < 0.5 * mean:
        text.append("It is hardly better than the best linear map, which is simpler.")
    median, worst = float(np.sort(finite)[(len(finite) - 1) // 2]), float(finite.max())
    if worst > 5 * median > 0:
        text.append(
            f"The worst error is {worst / median:.0f} times the median: look at that sample below before you trust the mean."
        )
    return text


def _spread(dataset: Dataset, predicted: torch.Tensor, errors: np.ndarray) -> list[Picture]:
    pictures = []
    if np.isfinite(errors).any():
        pictures.append(Picture.of(plotting.errors(errors), f"How the errors of the {len(errors)} samples held out spread."))
    space = _output(dataset)
    if space.tabular or space.ndim == 0:
        figure = plotting.parity(dataset.y, predicted)
        pictures.append(Picture.of(figure, "Prediction against truth, a dot for each sample held out; on the line they agree."))
    return pictures


def _cases(dataset: Dataset, predicted: torch.Tensor, errors: np.ndarray, rows: Sequence[int] | None) -> list[Picture]:
    pictures = []
    for name, i in cases(errors).items():
        sample = f"sample {rows[i]} of the file" if rows is not None else f"sample {i} of those held out"
        figure = plotting.fields(dataset.a[i], dataset.y[i], predicted[i], dataset.domain, _output(dataset), title="")
        off = f"relative error {errors[i]:.3g} ({in_words(float(errors[i]))})"
        pictures.append(Picture.of(figure, f"{name.capitalize()}: {sample}, {off}."))
    return pictures


def _search(history: History) -> Section:
    return Section(
        "Search for hyperparameters",
        "search",
        pictures=[Picture.of(plotting.search(history), "Validation errors within the training samples.")],
        text=[_sentence(history.summary), f"Found {history.found}."],
    )


def _shapes(dataset: Dataset) -> str:
    a, y = (" × ".join(map(str, values.shape[1:])) or "one number" for values in (dataset.a, dataset.y))
    return f"An input is {a}, an output {y}; arrays hold n of them, along their first axis. In Python, or from a shell:"


def _instructions(model_file: str) -> str:
    return (
        "import numpy, raffia\n"
        f"model = raffia.load({model_file!r})\n"
        'predicted = model.predict(numpy.load("inputs.npy"))\n\n'
        f"raffia predict {shlex.quote(model_file)} inputs.npy --output predicted.npy"
    )


def _caveats(errors: np.ndarray, split: str) -> list[str]:
    finite = errors[np.isfinite(errors)]
    points = [
        "The errors are those of samples that training did not see. For inputs that look different from these (larger, "
        "rougher, another regime) they may be larger, and nothing here says by how much.",
        "The truth is what the file says. Whatever error its outputs have (of a solver, a grid, a measurement) comes on top.",
        "The error is an average over each output. A small one can hide a large error in a small part: see the pointwise errors.",
    ]
    if 1 < len(finite) < FEW:
        spread = float(finite.std(ddof=1)) / len(finite) ** 0.5
        points.append(
            f"Only {len(errors)} samples were held out: their mean error is itself uncertain, by about ± {in_words(spread)}, and the "
            "worst of more samples would be worse."
        )
    if len(errors) == 1:
        points.append("One sample was held out: its error says little about the next one.")
    return [*points, f"How the samples were held out: {split}."]


def _output(dataset: Dataset) -> Space:
    return dataset.output if dataset.output is not None else dataset.domain
