"""The page about a surrogate, whether `raffia fit` trained it or `raffia.fit`: from what is known of it to a report."""

import math
import os
import platform
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import torch

from raffia import __version__
from raffia.data import Schema
from raffia.errors import RaffiaError
from raffia.plotting import Labels
from raffia.report import StepAfterStep, Table, sentence, write_report
from raffia.surrogate import Contest, Surrogate
from raffia.surrogate.rollouts import ALIKE

SHOWN = 4  # samples that may be wrong, in pictures
LEVEL = 0.9  # of the band that pictures have, where no other was asked for


def write_page(
    found: Surrogate,
    page: str | os.PathLike[str],
    model_file: str | os.PathLike[str] = "model.safetensors",
    title: str = "A surrogate",
    facts: Mapping[str, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
    band: str | None = None,
    level: float = LEVEL,
) -> None:
    """Write the report of a surrogate as one HTML page: how good it is on what was held out, and, of time steps, step after step.

    `model_file` is the file that its instructions name, where the model is, or will be, saved. `facts` and `notes` are what else is to be
    told, of the data and of what was guessed; pictures have the band of this `level`, where enough pairs were held out for it.
    """
    model, held = found.model, found.contest
    if found.test is None or found.predicted is None or found.measured is None:
        raise RaffiaError("a page is about errors, and none were measured: pass held_out=… or test=… to raffia.fit.")
    frames, names = labels_of(getattr(model, "schema_", None), *found.test)
    try:
        widths = found.half_widths(level)
    except RaffiaError:
        widths = None
    write_report(
        page,
        title=title,
        facts={
            "model file": str(model_file),
            **facts,
            "features": f"{model.n_features} of {model.feature_map!r}"
            if model.n_features < math.inf
            else f"{model.feature_map!r}",
            "normalised": {True: "yes", False: "no", "function": "yes, by the mean function of the outputs"}[model.normalize],
            "ridge": ridge_in_words(model.ridge_, ".3g"),
            "time": f"{found.seconds:.1f} s",
            "versions": f"raffia {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        },
        notes=notes,
        contest=None
        if held is None
        else Table(f"{sentence(title_of(held))} None of them gives the errors above.", held.header, held.rows),
        history=found.history,
        dataset=found.test,
        predicted=found.predicted,
        errors=found.measured.relative,
        measured=found.measured,
        split=found.split,
        baselines=found.simpler,
        n_train=found.n_train,
        rows=found.rows,
        band=band,
        widths=None if widths is None else (level, widths),
        by_blocks=found.by_blocks,
        in_order=found.in_order,
        groups=found.groups,
        warnings=found.notes,
        rollout=_steps(found, frames[1]),
        outliers=_outliers(found),
        input_frame=frames[0],
        output_frame=frames[1],
        input_names=names[0],
        output_names=names[1],
    )


def _steps(found: Surrogate, frame: Labels) -> StepAfterStep | None:
    """What the page shows of a model of time steps."""
    rollout = found.rollout
    if rollout is None or rollout.truth is None or rollout.predicted is None or rollout.space is None:
        return None
    errors, correlations = rollout.errors.tolist(), rollout.correlations.tolist()
    return StepAfterStep(rollout.words, errors, correlations, ALIKE, rollout.truth, rollout.predicted, rollout.space, frame)


def _outliers(found: Surrogate) -> list[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """The most unusual samples, for pictures."""
    if (odd := found.outliers) is None:
        return []
    return list(zip(odd.rows, odd.data.a, odd.data.y, odd.predicted, strict=True))[:SHOWN]


def title_of(held: Contest) -> str:
    """What a table of a contest is about."""
    return f"contest, on {held.n_validation} pairs that were not trained on"


def ridge_in_words(ridge: float | torch.Tensor, digits: str) -> str:
    """A number; of several, from the least to the largest."""
    ends = [float(ridge)] if not torch.is_tensor(ridge) else [float(end(ridge[1:])) for end in (torch.min, torch.max)]
    return " … ".join(format(end, digits) for end in dict.fromkeys(ends))


def labels_of(schema: Schema | None, a: torch.Tensor, y: torch.Tensor) -> tuple[list[Labels], list[list[str] | None]]:
    """What pictures need to know of inputs and outputs: labels of axes, where the schema has them, and names of channels or components,
    where there is an array for each."""
    if schema is None:
        return [(), ()], [None, None]
    names: list[list[str] | None] = []
    for side, values in ((schema.input, a), (schema.output, y)):
        count = values.shape[1] if side.space.has_components else 1
        names.append(list(side.names) if len(side.names) == count else None)
    return [schema.input.frame, schema.output.frame], names
