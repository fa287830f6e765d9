"""From a file to pairs: each step takes what the user says, else what the file says, else what is inferred and noted, or asked for."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from raffia.data import own
from raffia.data.dataset import Dataset
from raffia.data.infer.coordinates import Places, check_reshaped, reader_of
from raffia.data.infer.guess import Confidence, Guesses
from raffia.data.infer.names import Variables, bounds, choose, contents, expanded, shapes, unused, with_parts, word
from raffia.data.infer.sample_axis import samples_axes
from raffia.data.infer.sides import spaces_of
from raffia.data.infer.time_axis import trajectories_in
from raffia.data.options import ReadingOptions, listed
from raffia.data.parameters import with_parameters
from raffia.data.readers import naming, variables
from raffia.data.readers.folders import NUMBERS, parameters_in
from raffia.data.readers.tables.wide import selected
from raffia.data.source import Source
from raffia.data.trajectories import Steps
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Space

MOST_LISTED = 12  # unused arrays that are listed by name
GROUPS = re.compile(
    r"(.*[_ ])?(subject|patient|specimen|person|participant|animal|batch|run|test|group|id)([_ ]?(id|no|nr|number|name))?"
)
"""Names of labels of samples that belong together."""


def open_source(path: Any, options: ReadingOptions | None = None, **fields: Any) -> Source:
    """Open the pairs in a file of any format, or in data in memory; rows are read when they are asked for.

    Parameters
    ----------
    path
        A file, a folder, or a pattern such as "runs/*.csv"; or a Dataset or DataArray of xarray, or a DataFrame of pandas.
    options
        What is known of the file. What is not given is inferred where the file makes it clear, and noted in `Source.guesses`.
    **fields
        Fields of `ReadingOptions`, in place of `options`.

    Returns
    -------
    Source
        The pairs, with their spaces and the `schema` by which another file of the same kind is read.

    Raises
    ------
    RaffiaError
        If two readings are possible that would train different models. The message names the option that decides.
    """
    options = ReadingOptions(**fields) if options is None else replace(options, **fields)
    place, guesses = Path(path if isinstance(path, (str, os.PathLike)) else type(path).__name__), Guesses()
    held = variables(path, options.layout)
    if options.parameters is None and (table := parameters_in(place)):
        options = replace(options, parameters=table)
        guesses.note(f"inputs are in {table.name}, the one table beside the files", "parameters", table, Confidence.LIKELY)
    ours = own.description(place, held) if options.input is options.output is None else None
    if ours is not None:
        options = replace(options, input="a", output="y")
    options = _as_described(ours[0] if ours else own.domain_of_trajectories(held), options, guesses)
    here, there, options = _arrays_named(place, held, options)
    stepping = Guesses()
    steps, otherwise = _trajectories(place, here, options, stepping)
    if steps is not None:
        here = there = steps.pairs_in(with_parts(place, here, listed(options.input)))
        options = replace(options, input=steps.inputs, output=steps.outputs)
    try:
        ins, outs, why = choose(place, here, options.input, options.output, options.output_path, there)
    except RaffiaError as error:
        raise RaffiaError(f"{error} {otherwise}".strip()) from None
    every = here | there
    pool = unused(every, (*ins, *outs))
    guesses[:0] = [*why, *stepping]
    for text in dict.fromkeys(text for v in (*ins, *outs) for text in v.notes):
        guesses.note(text)
    with naming(place):
        both, known = (*ins, *outs), steps is not None or ours is not None
        axes = (0,) * len(both) if known else samples_axes(ins, outs, pool, guesses, options.samples_axis)
        parts = [reader_of(v, axis, pool, guesses, options.grid) for v, axis in zip(both, axes, strict=True)]
        check_reshaped(parts, options.grid)
        inputs, outputs = parts[: len(ins)], parts[len(ins) :]
        if ours is not None and ours[0].has_components:
            for part in parts:
                part.channel = 0
        spaces, places = spaces_of(place, inputs, outputs, pool, options, guesses)
    if ours is None:
        apart = bounds(every)
        others = {name: v for name, v in every.items() if name in pool or name in apart}
        _note_unused(others, places, len(inputs[0]), guesses)
    paths = (place, place if options.output_path is None else Path(options.output_path))
    coordinates = dict.fromkeys(f"{'' if v.path in paths else ':'}{v.name}" for side in places for v in side.used)
    return Source(
        path=place,
        domain=spaces[0],
        output=spaces[1],
        inputs=inputs,
        outputs=outputs,
        settings=ours[1] if ours else {},
        guesses=guesses,
        input_frame=places[0].frame,
        output_frame=places[1].frame,
        coordinates=tuple(coordinates),
        parameters=None if options.parameters is None else Path(options.parameters),
        steps=steps,
        given=frozenset(name for name in ("stride", "window") if getattr(options, name) is not None),
    )


def read(path: Any, **fields: Any) -> Dataset:
    """Read all pairs in a file, or in data in memory.

    Parameters
    ----------
    path
        A file, a folder, or a pattern such as "runs/*.csv"; or a Dataset or DataArray of xarray, or a DataFrame of pandas.
    **fields
        What is known of the file, by the names of the options of `raffia fit`: `input="load"`, `output="deflection"`,
        `periodic=True`, and all other fields of `raffia.data.ReadingOptions`. What is not given is inferred.

    Returns
    -------
    Dataset
        The pairs, as tensors (n, *grid).

    Examples
    --------
    See `examples/plot_02_own_file.py` in the gallery.

    >>> import numpy as np, pandas, raffia
    >>> table = pandas.DataFrame(np.random.default_rng(0).random((20, 3)), columns=["p1", "p2", "lift"])
    >>> raffia.read(table, input=["p1", "p2"], output="lift").a.shape
    torch.Size([20, 2])
    """
    return open_source(path, **fields).dataset()


def _as_described(space: Space | None, options: ReadingOptions, guesses: Guesses) -> ReadingOptions:
    """The options with the kinds and lengths of axes that a file of ours says, where the user says none."""
    if space is None or options.convention_given or options.vectors or options.reshape is not None:
        return options
    region = cast(Domain, space.one_channel)
    axes = tuple(kind.name for kind in region.kinds)
    return replace(options, axes=axes, extent=region.extents if options.extent is None else options.extent)


def _arrays_named(place: Path, held: Variables, options: ReadingOptions) -> tuple[Variables, Variables, ReadingOptions]:
    """The arrays of the inputs and of the outputs, of one file or of two, and options that name those in a table of parameters."""
    here = there = selected(held, [*listed(options.input), *listed(options.output)])
    if options.output_path is not None:
        there = selected(variables(options.output_path, options.layout), listed(options.output))
    if options.parameters is not None:
        joined, names = with_parameters(place, here, Path(options.parameters), options.input)
        if options.output_path is None:
            there = {name: v for name, v in here.items() if name != NUMBERS}
        here, options = joined, replace(options, input=names, output_path=options.output_path or place)
    return here, there, replace(options, input=expanded(options.input, here), output=expanded(options.output, there))


def _trajectories(place: Path, arrays: Variables, options: ReadingOptions, guesses: Guesses) -> tuple[Steps | None, str]:
    """How trajectories lie in the file, if it holds any, and what to add if pairs cannot be read either."""
    if options.output is None and options.output_path is None:
        names = listed(options.input)
        return trajectories_in(place, with_parts(place, arrays, names), names, options, guesses)
    if options.of_trajectories:
        raise RaffiaError(
            f"{place}: {options.of_trajectories[0]} applies to trajectories, which are read only if no output is named. Leave out "
            "this option, or leave out the output (output=…, --output)."
        )
    return None, ""


def _note_unused(others: Variables, places: Sequence[Places], n: int, guesses: Guesses) -> None:
    """Note the arrays of numbers that have no part in the pairs, and labels by which samples may belong together."""
    for name, v in others.items():
        if v.shape == (n,) and GROUPS.fullmatch(word(name)) and len(set(v.glance().tolist())) < n:
            guesses.note(
                f"{name} is the same for several samples: if those belong together, --groups {name} holds them out together"
            )
    used = {v.name for side in places for v in (*side.used, *side.beside)}
    left = [v for v in others.values() if v.numeric and v.name not in used]
    more = f", and {len(left) - MOST_LISTED} more" if len(left) > MOST_LISTED else ""
    if left:
        guesses.note(f"not used: {shapes(left[:MOST_LISTED])}{more}")


def labels_in(source: Source, name: str) -> np.ndarray:
    """Return labels of samples: the array of this name, with one entry a sample, in the file of the inputs or of the outputs."""
    parts = [part.variable for part in (*source.inputs, *source.outputs)]
    layouts = {source.path: parts[0].layout} | {v.path: v.layout for v in parts}
    arrays = [variables(path, layout) for path, layout in layouts.items()]
    if (found := next((held[name] for held in arrays if name in held), None)) is not None:
        return found.glance()
    raise RaffiaError(
        f"groups={name!r} (--groups): {source.path} has no array of that name. {contents(arrays[0])} "
        "Name one with an entry for each sample."
    )
