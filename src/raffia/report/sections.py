"""The sections of a report: what was learned, how well, where it errs, and how to use the model."""

import math
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from raffia import __version__, plotting
from raffia.errors import RaffiaError
from raffia.pages import Picture, Section, Table, write
from raffia.report.rollouts import rollout_section
from raffia.report.wording import (
    band_in_words,
    cases,
    caveats,
    contest_title,
    headline,
    in_words,
    ridge_in_words,
    sentence,
    verdict,
)
from raffia.surrogate import Surrogate

BAND_LEVEL = 0.9
"""The probability of the band in pictures, if no other is asked for."""
MOST_OUTLIERS = 4
"""Samples that may be wrong, shown in pictures."""
LEAST_STEPS = 3
"""Samples of a group, or in all, from which on errors are drawn along them."""
NORMALISED = {True: "yes", False: "no", "function": "yes, by the mean function of the outputs"}


def report(
    surrogate: Surrogate,
    path: str | os.PathLike[str],
    *,
    title: str = "A surrogate",
    model_file: str | os.PathLike[str] = "model.safetensors",
    facts: Mapping[str, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
    level: float | None = None,
) -> None:
    """Write a page about a surrogate: its errors on held-out pairs, those of simple predictions, and how to use it.

    Parameters
    ----------
    surrogate
        What `raffia.fit` returns, with errors on held-out or test pairs.
    path
        The HTML file to write.
    title
        The title of the page.
    model_file
        The file that the instructions name, where the model is or will be saved.
    facts
        Further lines of the table of facts, such as the name of the data file.
    notes
        What was inferred from the data, in sentences.
    level
        The probability of the band around predictions. None draws a band of 90 % and does not mention its width.

    Raises
    ------
    RaffiaError
        If no errors were measured.

    Examples
    --------
    >>> surrogate = raffia.fit("train.npz")  # doctest: +SKIP
    >>> report(surrogate, "train.html")  # doctest: +SKIP
    """
    held = _HeldOut(surrogate, level)
    model, contest, name = surrogate.model, surrogate.contest, str(model_file)
    band = [] if level is None else [sentence(band_in_words(surrogate, level))]
    table = contest and Table(
        f"{sentence(contest_title(contest))} None of them gives the errors above.", contest.header, contest.rows
    )
    known = {
        "model file": name,
        **facts,
        "features": repr(model.feature_map) if model.n_features == math.inf else f"{model.n_features} of {model.feature_map!r}",
        "normalised": NORMALISED[model.normalize],
        "ridge": ridge_in_words(model.ridge_, ".3g"),
        "time": f"{surrogate.seconds:.1f} s",
        "plan": surrogate.plan and f"{surrogate.plan.words}; {surrogate.plan.beyond}",
        "versions": f"raffia {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        "split": surrogate.split,
    }
    sections = [
        Section(title="What to know of these errors", anchor="warnings", points=[*map(sentence, surrogate.notes)]),
        held.errors_section(band),
        rollout_section(surrogate.rollout, held.output.frame),
        Section(title="Where it errs", anchor="where", pictures=held.where()),
        held.cases_section(),
        held.outliers_section(),
        Section(title="What was inferred from the data", anchor="guesses", points=list(notes)),
        table
        and Section(title="Contest", anchor="contest", text=["What was tried before this model was chosen."], tables=[table]),
        _search_section(surrogate),
        Section(
            title="How to use it",
            anchor="use",
            text=[_shapes(held.data.a, held.data.y)],
            code=_instructions(name, surrogate.rollout is not None),
        ),
        Section(title="What these errors do not say", anchor="caveats", points=caveats(held.errors, surrogate.split)),
        Section(title="Facts", anchor="facts", facts={key: value for key, value in known.items() if value}),
    ]
    filled = [one for one in sections if one and (one.points or one.text or one.tables or one.pictures or one.facts)]
    write(path, title, headline(held.errors, surrogate.n_train, surrogate.by_blocks), filled)


class _HeldOut:
    """The held-out pairs of a surrogate, with all that their pictures need."""

    def __init__(self, surrogate: Surrogate, level: float | None) -> None:
        if surrogate.test is None or surrogate.predicted is None or surrogate.measured is None:
            raise RaffiaError("a report is about errors, and none were measured: pass held_out=… or test=… to raffia.fit.")
        self.surrogate, self.data, self.measured = surrogate, surrogate.test, surrogate.measured
        self.predicted = surrogate.predicted.detach().cpu()
        self.errors = self.measured.relative.detach().double().cpu().numpy()
        schema = surrogate.model.trained_.file_schema
        self.input = replace(schema.input, space=self.data.domain)
        self.output = replace(schema.output, space=self.data.output_space)
        self.level = BAND_LEVEL if level is None else level
        try:
            self.widths: list[float] | None = surrogate.half_widths(self.level)
        except RaffiaError:  # too few pairs for a band of this level
            self.widths = None

    def errors_section(self, band: list[str]) -> Section:
        """How good the model is: the distribution of its errors, and tables of them and of those of simple predictions."""
        surrogate, space, pictures = self.surrogate, self.data.output_space, []
        if np.isfinite(self.errors).any():
            figure = plotting.errors(self.errors)
            pictures.append(Picture.of(figure, f"How the errors of the {len(self.errors)} samples held out spread."))
        if space.tabular or space.ndim == 0:
            figure = plotting.parity(self.data.y, self.predicted, self._names(self.data.y[0].numel()))
            pictures.append(
                Picture.of(figure, "Prediction against truth, a dot for each sample held out; on the line they agree.")
            )
        compared = {"this model": self.measured, **surrogate.simpler}
        header = ["", "mean relative L² error", "median", "worst", "in deviations"]
        rows = [_summary(name, errors.relative, errors.deviations) for name, errors in compared.items()]
        tables = [Table("On the same samples: this model, and simple predictions without features.", header, rows)]
        count = self.measured.channels.shape[1]
        if count > 1:
            what = "component" if space.tabular else "channel"
            names = self._names(count) or [f"{what} {i}" for i in range(count)]
            each = zip(names, self.measured.channels.mT, self.measured.channel_deviations.mT, strict=True)
            tables.append(Table(f"Errors of each {what} by itself.", header, [_summary(*one) for one in each]))
        text = [*verdict(self.errors, float(self.measured.deviations.mean()), surrogate.baselines), *band]
        return Section(title="How good it is", anchor="errors", pictures=pictures, text=text, tables=tables)

    def where(self) -> list[Picture]:
        """Errors against parameters, by group and along it, and along the rows of a file that follow one another."""
        groups, rows, figures = self.surrogate.groups, self.surrogate.rows, {}
        if not np.isfinite(self.errors).any() or len(self.errors) < LEAST_STEPS:
            return []
        if self.data.domain.tabular:
            figure = plotting.errors_against_parameters(self.data.a, self.errors, self.input.names)
            figures["Error against each parameter, a dot for each sample held out."] = figure
        if groups is not None:
            places = np.array([sum(other == group for other in groups[:i]) for i, group in enumerate(groups)])
            if len(set(groups)) > 1:
                figures["Error by group, the worst first, with medians."] = plotting.errors_by_group(groups, self.errors)
            if places.max() + 1 >= LEAST_STEPS:
                figure = plotting.errors_along(places, self.errors, "place within its group, in the order of the file")
                figures["Error along the groups: of trajectories, against time."] = figure
        elif rows is not None and self.surrogate.in_order:
            figure = plotting.errors_along(np.array(rows), self.errors, "row of the file")
            figures["Error along the file, whose rows follow one another."] = figure
        return [Picture.of(figure, caption) for caption, figure in figures.items()]

    def cases_section(self) -> Section:
        """The best, the median and the worst sample, with the band where it can be drawn."""
        pictures, rows, space = [], self.surrogate.rows, self.data.output_space
        for name, i in cases(self.errors).items():
            sample = f"sample {rows[i]} of the file" if rows is not None else f"sample {i} of those held out"
            figure = self._fields(self.data.a[i], self.data.y[i], self.predicted[i], widths=self.widths)
            off = f"relative error {self.errors[i]:.3g} ({in_words(float(self.errors[i]))})"
            pictures.append(Picture.of(figure, f"{name.capitalize()}: {sample}, {off}."))
        drawn = self.widths is not None and (space.tabular or space.one_channel.dim <= 1)
        band = f"The band holds a whole new output with a probability of {100 * self.level:g} % or more."
        small = "Samples that were not used to train the model that predicts them, counted from 0."
        return Section(
            title="Best, median and worst", anchor="samples", small=small, pictures=pictures, text=[band] if drawn else []
        )

    def outliers_section(self) -> Section | None:
        """Pictures of samples whose errors are far outside the rest."""
        odd = self.surrogate.outliers
        if odd is None:
            return None
        pictures = []
        for row, a, y, predicted in list(zip(odd.rows, odd.data.a, odd.data.y, odd.predicted, strict=True))[:MOST_OUTLIERS]:
            caption = f"Sample {row} of the file, and what a model trained without it predicts."
            pictures.append(Picture.of(self._fields(a, y, predicted), caption))
        return Section(title="Samples that may be wrong", anchor="outliers", pictures=pictures)

    def _fields(self, a: Tensor, y: Tensor, predicted: Tensor, widths: Sequence[float] | None = None) -> plotting.Figure:
        return plotting.fields(a, y, predicted, self.input, self.output, title="", widths=widths)

    def _names(self, count: int) -> list[str] | None:
        return list(self.output.names) if len(self.output.names) == count else None


def _summary(name: str, relative: Tensor, deviations: Tensor) -> list[str]:
    """A row of a table of errors."""
    values = (relative.mean(), relative.median(), relative.max(), deviations.mean())
    return [name, *(f"{float(value):.3g}" if value.isfinite() else "–" for value in values)]


def _search_section(surrogate: Surrogate) -> Section | None:
    history = surrogate.history
    if history is None or not history.trials:
        return None
    picture = Picture.of(plotting.search(history), "Validation errors within the training samples.")
    text = [sentence(history.summary), f"Found {history.found}."]
    return Section(title="Search for hyperparameters", anchor="search", pictures=[picture], text=text)


def _shapes(a: Tensor, y: Tensor) -> str:
    a_shape, y_shape = (" × ".join(map(str, values.shape[1:])) or "one number" for values in (a, y))
    return f"An input is {a_shape}, an output {y_shape}; arrays hold n of them, along their first axis. In Python, or from a shell:"


def _instructions(model_file: str, stepped: bool) -> str:
    """What to type, quoted for Python and for the shell."""
    name = shlex.quote(model_file)
    path = '\npath = model.rollout(numpy.load("inputs.npy"), steps=100)' if stepped else ""
    shell = f"\nraffia rollout {name} inputs.npy --steps 100 --output path.npy" if stepped else ""
    return (
        "import numpy, raffia\n"
        f"model = raffia.load({model_file!r})\n"
        f'predicted = model.predict(numpy.load("inputs.npy")){path}\n\n'
        f"raffia predict {name} inputs.npy --output predicted.npy{shell}"
    )
