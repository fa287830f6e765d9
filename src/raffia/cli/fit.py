"""raffia fit: from a file to a surrogate, its expected error and a report."""

import math
import platform
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer
from rich.table import Table as Printed

from raffia import __version__, surrogate
from raffia.cli.common import (
    AXES_HELP,
    FILES_HELP,
    PARAMETERS_HELP,
    RESAMPLE_HELP,
    SAMPLE_COLUMN_HELP,
    TABLE_HELP,
    app,
    check_output,
    console,
    extents,
    ridge_in_words,
)
from raffia.data import Source, open_source
from raffia.errors import RaffiaError
from raffia.report import Table, write_report
from raffia.spaces import Vectors
from raffia.surrogate import FAMILIES, Surrogate
from raffia.training.coefficients import coefficients_of
from raffia.training.settings import check_numbers
from raffia.tuning import GradientSearch

FAMILIES_IN_WORDS = ", ".join(family.name for family in FAMILIES)


@app.command()
def fit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="npz, npy, mat, h5, nc, zarr, pt, csv or txt; a folder, or a pattern in quotes; `raffia inspect` says what is in it.",
        ),
    ],
    input_names: Annotated[list[str] | None, typer.Option("--input", help="Array of the inputs; several are channels.")] = None,
    output_names: Annotated[
        list[str] | None,
        typer.Option("--output", help="Array of the outputs; or, if it ends in .safetensors, the model file to write."),
    ] = None,
    model_file: Annotated[
        Path | None, typer.Option("--model", "-o", help="The model file to write; DATA.safetensors here.")
    ] = None,
    outputs: Annotated[Path | None, typer.Option(help="A second file, with the outputs.")] = None,
    coordinates: Annotated[list[str] | None, typer.Option(help="Array of the coordinates of nodes, or of grid axes.")] = None,
    cells: Annotated[str | None, typer.Option(help="Array of the cells of a mesh.")] = None,
    periodic: Annotated[
        bool | None, typer.Option("--periodic/--box", help="Grid convention, where the data do not show it.")
    ] = None,
    axes: Annotated[str | None, typer.Option(help=AXES_HELP)] = None,
    extent: Annotated[list[float] | None, typer.Option(help="Length of the domain; once, or once an axis.")] = None,
    table: Annotated[str | None, typer.Option(help=TABLE_HELP)] = None,
    sample_column: Annotated[list[str] | None, typer.Option(help=SAMPLE_COLUMN_HELP)] = None,
    resample: Annotated[str | None, typer.Option(help=RESAMPLE_HELP)] = None,
    files: Annotated[str | None, typer.Option(help=FILES_HELP)] = None,
    parameters: Annotated[Path | None, typer.Option(help=PARAMETERS_HELP)] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="Inputs are parameters, however many, and no functions.")] = False,
    held_out: Annotated[
        float, typer.Option(help="Pairs kept from everything, for the errors: a share below 1, or a number.")
    ] = 0.2,
    test: Annotated[Path | None, typer.Option(help="A file to take the errors from instead.")] = None,
    test_outputs: Annotated[Path | None, typer.Option(help="A second file, with the outputs of --test.")] = None,
    band: Annotated[
        float | None,
        typer.Option(help="Also say how far from predictions a whole output lies with this probability, such as 0.9."),
    ] = None,
    refit: Annotated[bool, typer.Option(help="Train on all pairs in the end, those held out included.")] = True,
    feature_map: Annotated[
        str, typer.Option("--map", help=f"Features: auto, which holds a contest, or {FAMILIES_IN_WORDS}.")
    ] = "auto",
    features: Annotated[int, typer.Option(min=1, help="Number of random features m.")] = 1024,
    ridge: Annotated[str, typer.Option(help="The penalty λ: a number, or auto for the least leave-one-out error.")] = "auto",
    effort: Annotated[str, typer.Option(help="How long a contest may take: quick, normal or long.")] = "normal",
    tune: Annotated[bool, typer.Option("--tune", help="Search the hyperparameters at length (auto does it in short).")] = False,
    normalize: Annotated[
        bool | None, typer.Option("--normalize/--no-normalize", help="Whether to normalise; the features know, if not said.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the features.")] = 0,
    points: Annotated[
        str | None, typer.Option(help="Train on so many points along an axis, or auto for the fewest that serve.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Where to compute: cpu or cuda.")] = None,
    memory_budget: Annotated[int | None, typer.Option(min=1, help="Bytes that features may take.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--whole", help="Read in batches, with a checkpoint to go on from; by size if not said."),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Pairs to read at once with --stream.")] = None,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between checkpoints with --stream.")] = 30.0,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to train on, such as tcp://10.0.0.1:8786.")
    ] = None,
    report: Annotated[bool, typer.Option(help="Write an HTML page beside the model.")] = True,
) -> None:
    """Train a surrogate on pairs in a file; write the model and a page that says how good it is.

    Example: raffia fit train.npz
    """
    names, file = _names_and_file(output_names, model_file, source)
    penalty, settings = _ridge(ridge), {"device": device, "memory_budget": memory_budget, "points": _points(points)}
    check_numbers(features, penalty, None, memory_budget, settings["points"])
    check_output(file, ".safetensors", "--model")
    if report:
        check_output(file.with_suffix(".html"), ".html", "--model with its report")
    options: dict[str, Any] = {
        "input": input_names, "output": names, "coordinates": coordinates, "cells": cells, "periodic": periodic,
        "axes": axes, "extent": extents(extent), "domain": Vectors() if vectors else None, "table": table,
        "sample_column": sample_column, "resample": resample, "files": files, "parameters": parameters,
    }  # fmt: skip
    pairs = open_source(source, **options, output_path=outputs)
    for note in pairs.notes:
        _note(note)
    found = surrogate.fit(
        pairs,
        feature_map,
        features,
        penalty,
        held_out,
        test=None if test is None else pairs.reading.pairs(test, input_names, names, test_outputs, parameters).dataset(),
        refit=refit,
        seed=seed,
        tune=GradientSearch(verbose=console.is_terminal) if tune else None,
        normalize=normalize,
        effort=effort,  # type: ignore[arg-type]  # the contest refuses others
        verbose=console.is_terminal,
        said=_note,
        band=band,
        stream=stream,
        scheduler=scheduler,
        batches={
            "batch_size": batch_size,
            "checkpoint_every": checkpoint_every,
            "checkpoint": file.with_suffix(".checkpoint"),
        },
        **settings,
    )
    found.model.save(file)
    _say(found, file)
    said = None if band is None else _band(found, band)
    if said is not None:
        console.print(said, soft_wrap=True)
    if report and found.test is not None:
        page = file.with_suffix(".html")
        _report(found, page, file, source, pairs, seed, said)
        console.print(f"report: {page}", soft_wrap=True)


def _note(text: str) -> None:
    console.print(text, style="dim", soft_wrap=True)


def _say(found: Surrogate, file: Path) -> None:
    if found.contest is not None:
        table = Printed(
            "features",
            "error",
            "time",
            "found",
            title=f"contest, on {found.contest.n_validation} pairs that were not trained on",
        )
        for row in found.contest.rows:
            table.add_row(*row)
        console.print(table)
    elif found.history is not None:
        console.print(found.history.summary, soft_wrap=True)
        console.print(f"found {found.history.found}", soft_wrap=True)
    model = found.model
    if found.errors is not None:
        expected = (
            f"mean relative error {float(found.errors.mean()):.3g} on {len(found.errors)} pairs "
            f"{'held out' if found.rows is not None else 'of the test'} (worst {float(found.errors.max()):.3g}"
            + "".join(f"; {name} {error:.3g}" for name, error in found.baselines.items())
            + ")"
        )
    elif hasattr(model, "loo_error_"):
        expected = f"expected error {model.loo_error_:.4f} (leave-one-out)"
    else:
        expected = f"training error {coefficients_of(model.settings).training_error(model.settings, model.trained_):.4f}"
    trained = f"trained on {model.equations_.n_samples} pairs in {found.seconds:.1f} s"
    console.print(
        f"{trained}, ridge {ridge_in_words(model.ridge_, '.1e')}, {expected}; wrote {file}",
        soft_wrap=True,
    )


def _band(found: Surrogate, level: float) -> str:
    """The half-widths of the band, in the units of the outputs."""
    widths = found.half_widths(level)
    many = (
        f"{min(widths):.3g} to {max(widths):.3g}, by component," if len(widths) > 4 else ", ".join(f"{w:.3g}" for w in widths)
    )
    each = f" (one for each of {len(widths)} components)" if 1 < len(widths) <= 4 else ""
    return (
        f"band of {100 * level:g} %: with at least this probability a new output lies, as a whole, within ± {many}{each} of its "
        f"prediction, by {len(found.model.trained_.scores)} pairs that training had not seen"
    )


def _report(found: Surrogate, page: Path, file: Path, source: Path, pairs: Source, seed: int, band: str | None) -> None:
    model = found.model
    caption = "Mean relative error on pairs that the models compared were not trained on; none of them gives the errors above."
    contest = None if found.contest is None else Table(caption, ["features", "error", "time", "found"], found.contest.rows)
    assert found.test is not None
    assert found.predicted is not None
    assert found.errors is not None
    write_report(
        page,
        title=f"A surrogate of {source.name}",
        facts={
            "model file": str(file),
            "data": f"{source}, {len(pairs)} pairs",
            "command": "raffia " + shlex.join(sys.argv[1:]),
            "features": f"{model.n_features} of {model.feature_map!r}"
            if model.n_features < math.inf
            else f"{model.feature_map!r}",
            "normalised": {True: "yes", False: "no", "function": "yes, by the mean function of the outputs"}[model.normalize],
            "ridge": ridge_in_words(model.ridge_, ".3g"),
            "seed": str(seed),
            "time": f"{found.seconds:.1f} s",
            "versions": f"raffia {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        },
        notes=pairs.notes,
        contest=contest,
        history=found.history,
        dataset=found.test,
        predicted=found.predicted,
        errors=found.errors,
        split=found.split,
        measure=model.trained_.frame.measure,
        baselines=found.baselines,
        n_train=found.n_train,
        rows=found.rows,
        band=band,
    )


def _names_and_file(given: list[str] | None, model_file: Path | None, source: Path) -> tuple[list[str] | None, Path]:
    """The names of output arrays, and the model file: --model, an --output that ends in .safetensors, or DATA.safetensors here."""
    names = [name for name in given or [] if not name.endswith(".safetensors")]
    files = [Path(name) for name in given or [] if name.endswith(".safetensors")] + ([] if model_file is None else [model_file])
    if len(files) > 1:
        raise RaffiaError(f"--model must name one file; got {', '.join(map(str, files))}.")
    return names or None, files[0] if files else _beside(source)


def _beside(source: Path) -> Path:
    """DATA.safetensors in this folder; the wildcards of a pattern are left out."""
    name = re.sub(r"[*?\[\]]+", "", source.stem if source.suffix else source.name).strip(" _-.")
    return Path(f"{name or source.absolute().parent.name}.safetensors")


def _ridge(text: str) -> float | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise RaffiaError(f"--ridge must be a number >= 0, or auto; got {text!r}.") from None


def _points(text: str | None) -> int | Literal["auto"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise RaffiaError(f"--points must be an integer >= 3, or auto; got {text!r}.")
    return int(text)
