"""From a file to pairs: each step takes what the user says, else what the file says, else what is inferred and noted, or asked for."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from raffia.data.options import Names, ReadingOptions, listed
from raffia.data.parameters import with_parameters
from raffia.data.readers import NUMBERS, naming, parameters_in, selected, variables
from raffia.data.source import Source
from raffia.data.trajectories import Steps
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Space

MOST_LISTED = 12  # unused arrays that are listed by name
GROUPS = re.compile(
    r"(.*[_ ])?(subject|patient|specimen|person|participant|animal|batch|run|test|group|id)([_ ]?(id|no|nr|number|name))?"
)
"""Names of labels of samples that belong together."""


@dataclass(kw_only=True)
class _Arrays:
    """The arrays of the file of the inputs and of that of the outputs, and the names of inputs and outputs where they are known."""

    inputs: Variables
    outputs: Variables
    input: Names | None
    output: Names | None
    output_path: Any


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
    arrays = _arrays_named(place, held, options)
    steps, otherwise, stepping = _trajectories(place, arrays, options)
    try:
        ins, outs, why = choose(place, arrays.inputs, arrays.input, arrays.output, arrays.output_path, arrays.outputs)
    except RaffiaError as error:
        raise RaffiaError(f"{error} {otherwise}".strip()) from None
    pool = unused(arrays.inputs | arrays.outputs, (*ins, *outs))
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
        every = arrays.inputs | arrays.outputs
        apart = bounds(every)
        others = {name: v for name, v in every.items() if name in pool or name in apart}
        _note_unused(others, places, len(inputs[0]), guesses)
    paths = (place, place if arrays.output_path is None else Path(arrays.output_path))
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
    guesses.note("the kinds and lengths of axes are as the file says", "axes", ",".join(axes))
    return replace(options, axes=axes, extent=region.extents if options.extent is None else options.extent)


def _arrays_named(place: Path, held: Variables, options: ReadingOptions) -> _Arrays:
    """The arrays that the options name, of one file or of two, with the table of parameters, if there is one."""
    here = selected(held, [*listed(options.input), *listed(options.output)])
    there = here
    if options.output_path is not None:
        there = selected(variables(options.output_path, options.layout), listed(options.output))
    input, output = expanded(options.input, here), expanded(options.output, there)
    arrays = _Arrays(inputs=here, outputs=there, input=input, output=output, output_path=options.output_path)
    if options.parameters is None:
        return arrays
    joined, names = with_parameters(place, here, Path(options.parameters), options.input)
    if arrays.output_path is None:
        own_arrays = {name: v for name, v in here.items() if name != NUMBERS}
        arrays = replace(arrays, output_path=place, outputs=own_arrays)
    return replace(arrays, inputs=joined, input=names)


def _trajectories(place: Path, arrays: _Arrays, options: ReadingOptions) -> tuple[Steps | None, str, Guesses]:
    """How trajectories lie in the file, if it holds any; `arrays` then have their states in place of them."""
    guesses = Guesses()
    if options.output is not None or options.output_path is not None or options.parameters is not None:
        if options.of_trajectories:
            raise RaffiaError(
                f"{place}: {options.of_trajectories[0]} is for trajectories, which pairs are made of here; it does not go with inputs and "
                "outputs that are named."
            )
        return None, "", guesses
    arrays.inputs = arrays.outputs = with_parts(place, arrays.inputs, listed(arrays.input))
    steps, otherwise = trajectories_in(place, arrays.inputs, listed(arrays.input), options, guesses)
    if steps is not None:
        arrays.inputs = arrays.outputs = steps.pairs_in(arrays.inputs)
        arrays.input, arrays.output = steps.inputs, steps.outputs
    return steps, otherwise, guesses


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
    held = {path: variables(path, layout) for path, layout in layouts.items()}
    found = next((arrays[name] for arrays in held.values() if name in arrays), None)
    if found is None:
        raise RaffiaError(
            f"groups={name!r} (--groups): {source.path} has no array of that name. {contents(held[source.path])} "
            "Name one with an entry for each sample."
        )
    return found.glance()
