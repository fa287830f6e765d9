"""The page that `raffia fit` leaves beside a model: what was learned, how well, and what to make of it."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch

from raffia import plotting
from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.metrics import Errors
from raffia.plotting import Array, Labels
from raffia.report.page import Picture, Section, Table, write
from raffia.report.steps import StepAfterStep
from raffia.report.words import cases, caveats, headline, in_words, sentence, verdict
from raffia.tuning import History

MODEL_FILE = "model file"  # the fact that names it
COUNTED = "Samples that were not used to train the model that predicts them, counted from 0."
LEAST_STEPS = 3  # of a group, to draw errors along it


@dataclass(frozen=True, eq=False)
class _Held:
    """The samples held out, what was predicted, and all that their pictures need to know."""

    dataset: Dataset
    predicted: torch.Tensor
    errors: np.ndarray
    measured: Errors | None
    rows: Sequence[int] | None
    groups: Sequence[object] | None
    in_order: bool
    input_frame: Labels
    output_frame: Labels
    input_names: Sequence[str] | None
    output_names: Sequence[str] | None
    widths: tuple[float, Sequence[float]] | None


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
    measured: Errors | None = None,
    baselines: Mapping[str, Errors] = MappingProxyType({}),
    n_train: int | None = None,
    rows: Sequence[int] | None = None,
    band: str | None = None,
    widths: tuple[float, Sequence[float]] | None = None,
    by_blocks: float | None = None,
    in_order: bool = False,
    groups: Sequence[object] | None = None,
    warnings: Sequence[str] = (),
    rollout: StepAfterStep | None = None,
    outliers: Sequence[tuple[int, Array, Array, Array]] = (),
    input_frame: Labels = (),
    output_frame: Labels = (),
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> None:
    """Write the report as one HTML page; atomic.

    `dataset` is the part held out, with its predictions and their relative errors, and `measured` errors of all kinds; `rows` are the
    numbers of its samples in the file they came from, `in_order` whether those follow one another, `by_blocks` the mean error of blocks of
    them, `groups` what was held out together; `baselines` are what simpler predictions have. `facts["model file"]` is the file that
    the instructions name, `notes` what was guessed, `warnings` what is to be known of the errors, `split` how samples were held out;
    `outliers` are samples that may be wrong, each as its row, input, output and prediction;
    `rollout` says how a model of time steps does step after step; `band` how wide a band around predictions is, `widths` are its level
    and its half-widths, for pictures. Frames tell names, units and coordinates of axes, names those of channels or components.
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
    held = _Held(
        dataset, guess, off, measured, rows, groups, in_order, input_frame, output_frame, input_names, output_names, widths
    )  # fmt: skip
    deviations = None if measured is None else float(measured.deviations.mean())
    where = _where(held)
    sections = [
        Section("What to know of these errors", "warnings", points=[*map(sentence, warnings)]) if warnings else None,
        Section(
            "How good it is",
            "errors",
            pictures=_spread(held),
            text=[*verdict(off, deviations, baselines), *([] if band is None else [sentence(band)])],
            tables=_tables(held, baselines),
        ),
        None if rollout is None else rollout.section,
        Section("Where it errs", "where", pictures=where) if where else None,
        Section("Best, median and worst", "samples", COUNTED, pictures=_cases(held), text=_band(held)),
        _outliers(held, outliers) if outliers else None,
        Section("What was guessed", "guesses", points=list(notes)) if notes else None,
        Section("Contest", "contest", text="What was tried before this model was chosen.", tables=[contest])
        if contest
        else None,
        _search(history) if history and history.trials else None,
        Section(
            "How to use it",
            "use",
            text=_shapes(dataset),
            code=_instructions(facts.get(MODEL_FILE, "model.safetensors"), rollout is not None),
        ),
        Section("What these numbers do not say", "caveats", points=caveats(off, split)),
        Section("Facts", "facts", facts={**facts, "split": split}),
    ]
    write(path, title, headline(off, n_train, by_blocks), [section for section in sections if section])


def _spread(held: _Held) -> list[Picture]:
    pictures, errors = [], held.errors
    if np.isfinite(errors).any():
        pictures.append(Picture.of(plotting.errors(errors), f"How the errors of the {len(errors)} samples held out spread."))
    space = held.dataset.output_space
    if space.tabular or space.ndim == 0:
        size = held.dataset.y[0].numel()
        names = held.output_names if held.output_names is not None and len(held.output_names) == size else None
        figure = plotting.parity(held.dataset.y, held.predicted, names)
        pictures.append(Picture.of(figure, "Prediction against truth, a dot for each sample held out; on the line they agree."))
    return pictures


def _tables(held: _Held, baselines: Mapping[str, Errors]) -> list[Table]:
    """The model beside what is simpler, and each channel or component."""
    measured = held.measured
    if measured is None:
        return []
    header = ["", "mean relative L² error", "median", "worst", "in deviations"]
    known = {"this model": measured, **baselines}
    rows = [[name, *_in_numbers(errors.relative, errors.deviations)] for name, errors in known.items()]
    tables = [Table("On the same samples: this model, and what needs no features.", header, rows)]
    count = measured.channels.shape[1]
    if count > 1:
        what = "component" if held.dataset.output_space.tabular else "channel"
        named = held.output_names if held.output_names is not None and len(held.output_names) == count else None
        names = [f"{what} {i}" for i in range(count)] if named is None else list(named)
        each = zip(names, measured.channels.mT, measured.channel_deviations.mT, strict=True)
        rows = [[name, *_in_numbers(errors, deviations)] for name, errors, deviations in each]
        tables.append(Table(f"Errors of each {what} by itself.", header, rows))
    return tables


def _in_numbers(relative: torch.Tensor, deviations: torch.Tensor) -> list[str]:
    values = (relative.mean(), relative.median(), relative.max(), deviations.mean())
    return [f"{float(value):.3g}" if value.isfinite() else "–" for value in values]


def _where(held: _Held) -> list[Picture]:
    """Errors against parameters, by group and along it, and along the rows of a file where these follow one another."""
    pictures: list[Picture] = []
    errors, data = held.errors, held.dataset
    if not np.isfinite(errors).any() or len(errors) < LEAST_STEPS:
        return pictures
    if data.domain.tabular:
        figure = plotting.errors_against_parameters(data.a, errors, held.input_names)
        pictures.append(Picture.of(figure, "Error against each parameter, a dot for each sample held out."))
    if held.groups is not None:
        if len(set(held.groups)) > 1:
            figure = plotting.errors_by_group(held.groups, errors)
            pictures.append(Picture.of(figure, "Error by group, the worst first, with medians."))
        steps = _steps(held.groups)
        if max(steps) + 1 >= LEAST_STEPS:
            figure = plotting.errors_along(np.array(steps), errors, "place within its group, in the order of the file")
            pictures.append(Picture.of(figure, "Error along the groups: of trajectories, against time."))
    elif held.rows is not None and held.in_order:
        figure = plotting.errors_along(np.array(held.rows), errors, "row of the file")
        pictures.append(Picture.of(figure, "Error along the file, whose rows follow one another."))
    return pictures


def _steps(groups: Sequence[object]) -> list[int]:
    """How many of the same group came before each."""
    seen: dict[object, int] = {}
    steps = []
    for group in groups:
        steps.append(seen.get(group, 0))
        seen[group] = steps[-1] + 1
    return steps


def _cases(held: _Held) -> list[Picture]:
    pictures, data = [], held.dataset
    for name, i in cases(held.errors).items():
        sample = f"sample {held.rows[i]} of the file" if held.rows is not None else f"sample {i} of those held out"
        figure = plotting.fields(
            data.a[i], data.y[i], held.predicted[i], data.domain, data.output_space, title="",
            input_labels=held.input_frame, output_labels=held.output_frame,
            input_names=held.input_names, output_names=held.output_names,
            widths=None if held.widths is None else held.widths[1],
        )  # fmt: skip
        off = f"relative error {held.errors[i]:.3g} ({in_words(float(held.errors[i]))})"
        pictures.append(Picture.of(figure, f"{name.capitalize()}: {sample}, {off}."))
    return pictures


def _outliers(held: _Held, outliers: Sequence[tuple[int, Array, Array, Array]]) -> Section:
    """Pictures of samples whose errors are far outside the rest."""
    pictures = []
    for row, a, y, predicted in outliers:
        figure = plotting.fields(
            a, y, predicted, held.dataset.domain, held.dataset.output_space, title="",
            input_labels=held.input_frame, output_labels=held.output_frame,
            input_names=held.input_names, output_names=held.output_names,
        )  # fmt: skip
        pictures.append(Picture.of(figure, f"Sample {row} of the file, and what a model trained without it predicts."))
    return Section("Samples that may be wrong", "outliers", pictures=pictures)


def _band(held: _Held) -> list[str]:
    """What the band in the pictures is, where they have one."""
    space = held.dataset.output_space
    if held.widths is None or (not space.tabular and space.one_channel.dim > 1):
        return []
    return [f"The band holds a whole new output with a probability of {100 * held.widths[0]:g} % or more."]


def _search(history: History) -> Section:
    return Section(
        "Search for hyperparameters",
        "search",
        pictures=[Picture.of(plotting.search(history), "Validation errors within the training samples.")],
        text=[sentence(history.summary), f"Found {history.found}."],
    )


def _shapes(dataset: Dataset) -> str:
    a, y = (" × ".join(map(str, values.shape[1:])) or "one number" for values in (dataset.a, dataset.y))
    return f"An input is {a}, an output {y}; arrays hold n of them, along their first axis. In Python, or from a shell:"


def _instructions(model_file: str, stepped: bool) -> str:
    name = shlex.quote(model_file)
    path = '\npath = model.rollout(numpy.load("inputs.npy"), steps=100)' if stepped else ""
    shell = f"\nraffia rollout {name} inputs.npy --steps 100 --output path.npy" if stepped else ""
    return (
        "import numpy, raffia\n"
        f"model = raffia.load({model_file!r})\n"
        f'predicted = model.predict(numpy.load("inputs.npy")){path}\n\n'
        f"raffia predict {name} inputs.npy --output predicted.npy{shell}"
    )
