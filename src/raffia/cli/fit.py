"""raffia fit: from a file to a surrogate, its expected error and a report."""

import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from raffia import surrogate
from raffia.cli.common import check_output
from raffia.cli.console import GroupedCommand, app, console
from raffia.cli.fit_summary import note, print_summary, write_page
from raffia.cli.options import reading
from raffia.data import ReadingOptions, open_source
from raffia.data.options import listed
from raffia.errors import RaffiaError
from raffia.model import load
from raffia.model.settings import check_numbers
from raffia.model.trained import WorkPlan
from raffia.report import band_in_words
from raffia.surrogate import FAMILIES
from raffia.surrogate.budget import ended_by_ctrl_c
from raffia.tuning import GradientSearch

Judged, Modelled, Worked, Written = (
    partial(typer.Option, rich_help_panel=heading) for heading in ("Errors", "Model", "Effort", "Output")
)
"""Options under the headings of the help; those of typer are under the first, Data."""
FAMILIES_IN_WORDS = ", ".join(family.name for family in FAMILIES)


@app.command(cls=GroupedCommand)
@reading(output="Array of the outputs; or, if it ends in .safetensors, the model file to write.")
def fit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="npz, npy, mat, h5, nc, zarr, pt, csv, txt, vtk, xdmf, msh or exo; a folder, or a pattern in quotes: see raffia inspect.",
        ),
    ],
    options: ReadingOptions,
    held_out: Annotated[
        float | None,
        Judged(
            help="Pairs kept from everything, for the errors: a share below 1, or a count. By default a fifth, or of fewer than 200 "
            "pairs all in turn, by cross-validation."
        ),
    ] = None,
    drop: Annotated[
        str | None, Judged(help="Samples to leave out, by their indices in the file, counted from 0, such as 17,23.")
    ] = None,
    groups: Annotated[
        str | None,
        Judged(metavar="NAME", help="Array with a label a sample: whole groups are held out, such as runs or trajectories."),
    ] = None,
    blocks: Annotated[bool, Judged("--blocks", help="Hold out blocks of consecutive rows, for series in time.")] = False,
    one_step: Annotated[
        bool, Judged("--one-step", help="Judge models of time steps by one step, not by applying them again and again.")
    ] = False,
    test: Annotated[Path | None, Judged(help="A file to take the errors from instead.")] = None,
    test_outputs: Annotated[Path | None, Judged(help="A second file, with the outputs of --test.")] = None,
    band: Annotated[
        float | None,
        Judged(help="Also say how far from predictions a whole output lies with this probability, such as 0.9."),
    ] = None,
    refit: Annotated[bool, Judged(help="Train on all pairs in the end, those held out included.")] = True,
    feature_map: Annotated[
        str, Modelled("--map", help=f"Features: auto, which holds a contest, or {FAMILIES_IN_WORDS}.")
    ] = "auto",
    features: Annotated[int, Modelled(min=1, help="Number of random features m.")] = 1024,
    ridge: Annotated[str, Modelled(help="The penalty λ: a number, or auto for the least leave-one-out error.")] = "auto",
    budget: Annotated[
        float | None, Worked(help="Seconds that all may take, 60 by default: what is tried depends on them.")
    ] = None,
    effort: Annotated[str | None, Worked(help="A name for a budget: quick (10), normal (60) or long (600).")] = None,
    plan: Annotated[
        Path | None, Worked(help="A model file, of which the plan is carried out again, in place of a budget: the same model.")
    ] = None,
    start: Annotated[Path | None, Worked(help="A model file of such pairs, from whose features the search goes on.")] = None,
    tune: Annotated[bool, Worked("--tune", help="Search the hyperparameters at length (auto does it in short).")] = False,
    normalize: Annotated[
        bool | None, Modelled("--normalize/--no-normalize", help="Whether to normalise; the features know, if not said.")
    ] = None,
    seed: Annotated[int, Modelled(help="Seed of the split and of the features.")] = 0,
    points: Annotated[
        str | None, Modelled(help="Train on so many points along an axis, or auto for the fewest that serve.")
    ] = None,
    device: Annotated[str | None, Worked(help="Where to compute: cpu or cuda.")] = None,
    memory_budget: Annotated[int | None, Worked(min=1, help="Bytes that features may take.")] = None,
    stream: Annotated[
        bool | None,
        Worked("--stream/--whole", help="Read in batches, with a checkpoint to go on from; by size if not said."),
    ] = None,
    batch_size: Annotated[int | None, Worked(min=1, help="Pairs to read at once with --stream.")] = None,
    checkpoint_every: Annotated[float, Worked(min=0, help="Seconds between checkpoints with --stream.")] = 30.0,
    scheduler: Annotated[
        str | None, Worked(help="Address of a Dask scheduler to train on, such as tcp://10.0.0.1:8786.")
    ] = None,
    model_file: Annotated[Path | None, Written("--model", "-o", help="The model file to write; DATA.safetensors here.")] = None,
    report: Annotated[bool, Written(help="Write an HTML page beside the model.")] = True,
) -> None:
    """Train a surrogate on pairs in a file; write the model and a page that says how good it is.

    Example: raffia fit train.npz
    """
    names, file = _names_and_file(listed(options.output), model_file, source)
    penalty = _number("--ridge", float, ridge)
    settings: dict[str, Any] = {"device": device, "memory_budget": memory_budget, "points": _number("--points", int, points)}
    check_numbers(features, penalty, None, memory_budget, settings["points"])
    check_output(file, [".safetensors"], "--model")
    if report:
        check_output(file.with_suffix(".html"), [".html"], "--model with its report")
    chosen = feature_map == "auto" and not stream and scheduler is None
    with ended_by_ctrl_c() if chosen else nullcontext():
        pairs = open_source(source, replace(options, output=names))
        tested = None
        if test is not None:
            tested = pairs.schema.pairs(test, options.input, names, test_outputs, options.parameters)
        for text in (*pairs.guesses.notes, *(f"{test}: {text}" for text in ([] if tested is None else tested.guesses.notes))):
            note(text)
        found = surrogate.fit(
            pairs,
            feature_map,
            features,
            penalty,
            held_out,
            test=None if tested is None else tested.dataset(),
            refit=refit,
            seed=seed,
            tune=GradientSearch(verbose=console.is_terminal) if tune else None,
            normalize=normalize,
            budget=budget,
            effort=effort,
            plan=None if plan is None else _plan(plan),
            start=None if start is None else load(start),
            verbose=console.is_terminal,
            on_message=note,
            band=band,
            drop=_indices(drop),
            groups=groups,
            blocks=blocks,
            one_step=one_step,
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
        print_summary(found, file)
        if band is not None:
            console.print(band_in_words(found, band), soft_wrap=True)
        if report and found.test is not None:
            write_page(found, file, pairs, seed, band)


def _names_and_file(given: list[str], model_file: Path | None, source: Path) -> tuple[list[str] | None, Path]:
    """The names of output arrays, and the model file: --model, an --output that ends in .safetensors, or DATA.safetensors here."""
    names = [name for name in given if not name.endswith(".safetensors")]
    files = [Path(name) for name in given if name.endswith(".safetensors")] + ([] if model_file is None else [model_file])
    if len(files) > 1:
        raise RaffiaError(f"--model must name one file; got {', '.join(map(str, files))}.")
    return names or None, files[0] if files else _beside(source)


def _beside(source: Path) -> Path:
    """DATA.safetensors in this folder; the wildcards of a pattern are left out."""
    name = re.sub(r"[*?\[\]]+", "", source.stem if source.suffix else source.name).strip(" _-.")
    return Path(f"{name or source.absolute().parent.name}.safetensors")


def _plan(file: Path) -> WorkPlan:
    """The plan in a model file."""
    plan = load(file).trained_.plan
    if plan is None:
        raise RaffiaError(f"--plan {file} is the file of a model that raffia fit did not make: it has no plan. Pass --budget.")
    return plan


def _number(option: str, kind: type[int] | type[float], text: str | None) -> Any:
    """None, auto or a number, whose range is checked with the others."""
    try:
        return text if text in (None, "auto") else kind(text)
    except ValueError:
        raise RaffiaError(f"{option} must be a number, or auto; got {text!r}.") from None


def _indices(text: str | None) -> list[int]:
    try:
        return [] if text is None else [int(index) for index in text.split(",")]
    except ValueError:
        raise RaffiaError(f"--drop must be indices of samples, such as 17,23; got {text!r}.") from None
