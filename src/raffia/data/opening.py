"""From a file to pairs: each step takes what the user says, else what the file says, else what it infers and notes, or asks."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raffia.data import own
from raffia.data.dataset import Dataset
from raffia.data.meaning import attributes
from raffia.data.meaning.columns import Column, check_reshaped, column
from raffia.data.meaning.coordinates import lengths
from raffia.data.meaning.names import Variables, choose, shapes, unpaired, with_parts
from raffia.data.meaning.samples import samples_axes
from raffia.data.meaning.sides import Side, as_told, spaces_of
from raffia.data.meaning.slices import check_slices, sliced
from raffia.data.meaning.trajectories import Found, trajectories_in
from raffia.data.options import Names, ReadingOptions, listed
from raffia.data.parameters import with_parameters
from raffia.data.readers import NUMBERS, Variable, naming, selected, variables
from raffia.data.source import Source
from raffia.errors import RaffiaError
from raffia.spaces import Space

MOST_LISTED = 12  # unused arrays that are listed by name


@dataclass(kw_only=True)
class _Arrays:
    """The arrays of the file of the inputs and of that of the outputs, and the names of inputs and outputs where they are known."""

    inputs: Variables
    outputs: Variables
    input: Names | None
    output: Names | None
    output_path: Any

    @property
    def all(self) -> Variables:
        """Those of both files."""
        return self.inputs | self.outputs


def open_source(
    path: str | os.PathLike[str], options: ReadingOptions | None = None, *, domain: Space | None = None, **fields: Any
) -> Source:
    """Open the pairs in a file of any format; rows are read when they are asked for.

    Parameters
    ----------
    path
        A file, a folder, or a pattern such as "runs/*.csv".
    options
        What is known of the file. What is not given is inferred where the file makes it clear, and told in `Source.notes`.
    domain
        The space of the inputs, for files that do not say.
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
    if domain is not None and domain.tabular:
        domain, options = None, replace(options, vectors=True)
    place = Path(path)
    held = variables(place, options.layout)
    raffia_file = own.told(place, held) if options.input is options.output is None else None
    settings: dict[str, Any] = {}
    known: list[str] = []
    if raffia_file is None:
        arrays = _arrays_named(place, held, options)
        written = own.domain_of_trajectories(held)
        if written is not None and not options.convention_given and domain is options.slice is options.reshape is None:
            extent = written.extents if options.extent is None else options.extent
            options = replace(options, axes=tuple(kind.name for kind in written.kinds), extent=extent)
            known = ["the kinds and lengths of axes are as the file says."]
    else:
        domain, settings = raffia_file
        arrays = _Arrays(inputs=held, outputs=held, input="a", output="y", output_path=None)
    trajectories = _trajectories(place, arrays, options, bool(raffia_file))
    steps = trajectories.steps
    try:
        ins, outs, notes = choose(place, arrays.inputs, arrays.input, arrays.output, arrays.output_path, arrays.outputs)
    except RaffiaError as error:
        raise RaffiaError(f"{error} {trajectories.otherwise}".strip()) from None
    used = {v.name.partition("[")[0] for v in (*ins, *outs)}
    others = {name: v for name, v in arrays.all.items() if v.name.partition("[")[0] not in used}
    pool = {name: v for name, v in others.items() if name not in attributes.bounds(arrays.all)}
    notes += [*trajectories.notes, *known]
    with naming(place):
        columns = replace(options, samples_axis=None) if steps is not None else options
        inputs, outputs, more = _columns(ins, outs, pool, domain, columns)
        more = [note for note in more if steps is None or not note.startswith("samples are along")]
        notes += [*dict.fromkeys(note for v in (*ins, *outs) for note in v.notes), *more]
        sides = (
            as_told(inputs, outputs, domain) if domain is not None else spaces_of(place, inputs, outputs, pool, options, notes)
        )
    notes += [] if raffia_file else _unused(others, sides)
    paths = (place, place if arrays.output_path is None else Path(arrays.output_path))
    places = dict.fromkeys(f"{'' if v.path in paths else ':'}{v.name}" for side in sides for v in side.coordinates)
    return Source(
        path=place,
        domain=sides[0].space,
        output=sides[1].space,
        inputs=inputs,
        outputs=outputs,
        settings=settings,
        notes=[f"{len(inputs[0])} samples.", *notes],
        input_frame=sides[0].frame,
        output_frame=sides[1].frame,
        coordinates=tuple(places),
        parameters=None if options.parameters is None else Path(options.parameters),
        steps=steps,
        given=frozenset(name for name in ("stride", "window") if getattr(options, name) is not None),
    )


def read(path: str | os.PathLike[str], domain: Space | None = None, **fields: Any) -> Dataset:
    """Read all pairs in a file, with the options of `open_source`. What a file of raffia says of its domain comes first."""
    return open_source(path, domain=domain, **fields).dataset()


def _arrays_named(place: Path, held: Variables, options: ReadingOptions) -> _Arrays:
    """The arrays that the options name, of one file or of two, with the table of parameters, if there is one."""
    here = selected(held, [*listed(options.input), *listed(options.output)])
    there = here
    if options.output_path is not None:
        there = selected(variables(options.output_path, options.layout), listed(options.output))
    check_slices(here | there, listed(options.slice))
    here, there = (sliced(arrays, listed(options.slice)) for arrays in (here, there))
    arrays = _Arrays(inputs=here, outputs=there, input=options.input, output=options.output, output_path=options.output_path)
    if options.parameters is None:
        return arrays
    joined, names = with_parameters(place, here, Path(options.parameters), options.input)
    if arrays.output_path is None:
        own_arrays = {name: v for name, v in here.items() if name != NUMBERS}
        arrays = replace(arrays, output_path=place, outputs=own_arrays)
    return replace(arrays, inputs=joined, input=names)


def _trajectories(place: Path, arrays: _Arrays, options: ReadingOptions, ours: bool) -> Found:
    """How trajectories lie in the file, if it holds any; `arrays` then have their states in place of them."""
    if ours or options.output is not None or options.output_path is not None or options.parameters is not None:
        if options.of_trajectories:
            what = "a file of raffia's pairs" if ours else "inputs and outputs that are named"
            raise RaffiaError(
                f"{place}: {options.of_trajectories[0]} is for trajectories, which pairs are made of here; it does not go with {what}."
            )
        return Found(None, [])
    arrays.inputs = arrays.outputs = with_parts(place, arrays.inputs, listed(arrays.input))
    found = trajectories_in(place, arrays.inputs, listed(arrays.input), options)
    if found.steps is not None:
        arrays.inputs = arrays.outputs = found.steps.stepped(arrays.inputs)
        arrays.input, arrays.output = found.steps.inputs, found.steps.outputs
    return found


def _columns(
    ins: list[Variable], outs: list[Variable], pool: Variables, domain: Space | None, options: ReadingOptions
) -> tuple[list[Column], list[Column], list[str]]:
    """Samples of all variables, along the first axes if a domain is given, with notes."""
    both, notes = (*ins, *outs), []
    if domain is not None and options.samples_axis is None:
        whole = [len(v.shape) == 1 + domain.ndim for v in both]
        first = 0 if domain.one_channel is not domain else None
        parts = [Column(v, plain=fits, channel=first if fits else None) for v, fits in zip(both, whole, strict=True)]
        if len({len(part) for part in parts}) != 1:
            raise RaffiaError(unpaired(ins, outs))
    else:
        found = samples_axes(ins, outs, pool, options.samples_axis)
        parts = [column(v, axis, lengths(pool), options.grid) for v, axis in zip(both, found.axes, strict=True)]
        check_reshaped(parts, options.grid)
        notes = [*found.notes, *(note for part in parts for note in part.notes)]
    return parts[: len(ins)], parts[len(ins) :], notes


def _unused(others: Variables, sides: tuple[Side, Side]) -> list[str]:
    """A note on the arrays of numbers that have no part in the pairs."""
    used = {v.name for side in sides for v in side.used}
    left = [v for v in others.values() if v.numeric and v.name not in used]
    more = f", and {len(left) - MOST_LISTED} more" if len(left) > MOST_LISTED else ""
    return [f"not used: {shapes(left[:MOST_LISTED])}{more}."] if left else []
