"""Pairs in a file of any format: what is what is said by the file, by the caller, or guessed and noted."""

import os
from pathlib import Path
from typing import Any

from raffia.data import own
from raffia.data.dataset import Dataset
from raffia.data.meaning import attributes
from raffia.data.meaning.columns import Column, check_reshaped, column
from raffia.data.meaning.coordinates import lengths
from raffia.data.meaning.grids import Convention
from raffia.data.meaning.names import FLAGS, Names, Variables, choose, listed, pick, shapes, unpaired, with_parts
from raffia.data.meaning.samples import SamplesAxis, samples_axes
from raffia.data.meaning.sides import Asked, Side, as_told, spaces_of
from raffia.data.meaning.slices import check_slices, sliced
from raffia.data.meaning.trajectories import Found, Wanted, trajectories_in
from raffia.data.parameters import with_parameters
from raffia.data.readers import NUMBERS, Layout, Variable, naming, resampling, selected, variables
from raffia.data.reading import Source
from raffia.errors import RaffiaError
from raffia.spaces import Space

LISTED = 12  # arrays that were not used, by their names


def open_source(
    path: str | os.PathLike[str],
    *,
    input: Names | None = None,
    output: Names | None = None,
    coordinates: Names | None = None,
    cells: str | None = None,
    mask: str | None = None,
    periodic: bool | None = None,
    axes: str | tuple[str, ...] | None = None,
    extent: float | tuple[float, ...] | None = None,
    samples_axis: SamplesAxis = None,
    slice: Names | None = None,
    reshape: str | tuple[int, ...] | None = None,
    output_path: str | os.PathLike[str] | None = None,
    domain: Space | None = None,
    table: str | None = None,
    sample_column: Names | None = None,
    resample: str | int | None = None,
    files: str | None = None,
    parameters: str | os.PathLike[str] | None = None,
    time: int | None = None,
    stride: int | None = None,
    window: int | None = None,
    horizon: int = 1,
) -> Source:
    """Pairs in a file of any format; what is not given is guessed where it is clear, and said in `notes`.

    `input` and `output` name arrays, several of them as channels; `coordinates` name nodes (points, dim) of a mesh, or coordinates
    along the axes of a grid; `cells` the cells of a mesh; `mask` an array that is zero at nodes without values. A name may be a part of
    an array, "u[:,0]", or be in a file of its own, "FILE:NAME" or "FILE". `periodic` is the convention of grids, or `axes` are the kinds of
    their axes, as in "periodic,box" (see `Domain`); `extent` are their lengths. `samples_axis` is the number of the axis that counts
    samples, for all arrays or for each, "none" where they are one sample; `slice` parts to take of arrays, as in "u[:,0]"; `reshape`
    the grid, "26,22", of samples that are stored along one axis. The outputs may be in a file of their own, `output_path`. `domain` is the
    space of the inputs, for files that do not say.

    A `table` is "wide" (a row a sample), "long" (a row a point of a sample, which the columns `sample_column` name) or "columns" (a
    column a sample); curves on different points are brought to `resample` points, "200" or "0:0.44:200". Of a folder or a pattern such
    as "runs/*.csv", `files` are "samples" or "parts" of them, and `parameters` is a table with a row for each file.

    An array of trajectories is read as pairs of a state and the one `stride` steps later; `time` is the axis of time, where names of axes,
    an array of times or the values do not tell, and `samples_axis` the one that counts trajectories. With a `window`, inputs are so many
    states in a row, with a `horizon`, outputs are so many that follow, all as channels. A stride that is not given is 1, or larger where
    noise hides what changes in a step; a window that is not given is 1, until `raffia.fit` finds that a state does not tell the next.
    Numbers for each trajectory, in arrays beside it, are channels of its inputs.
    """
    place = Path(path)
    names = (*listed(input), *listed(output))
    layout = told_layout(table, sample_column, coordinates, resample, files, names)
    arrays = selected(variables(place, layout), names)
    told = own.told(place, arrays) if input is output is None else None
    settings: dict[str, Any] = {}
    if told:
        (domain, settings), (input, output) = told, ("a", "y")
    convention = Convention(periodic, axes, extent)
    if domain is slice is reshape is None and not told and not convention.said:
        convention = _as_written(arrays, convention)
    elsewhere = {} if output_path is None else selected(variables(output_path, layout), listed(output))
    check_slices(arrays | elsewhere, listed(slice))
    arrays, elsewhere = (sliced(held, listed(slice)) for held in (arrays, elsewhere or arrays))
    if parameters is not None:
        own_arrays = {name: v for name, v in arrays.items() if name != NUMBERS}
        arrays, input = with_parameters(place, arrays, Path(parameters), input)
        output_path, elsewhere = (place, own_arrays) if output_path is None else (output_path, elsewhere)
    found, wanted = Found(None, []), Wanted(time, stride, window, horizon, samples_axis)
    if not told and output is output_path is parameters is None:
        arrays = elsewhere = with_parts(place, arrays, listed(input))
        found = trajectories_in(place, arrays, listed(input), wanted)
    else:
        _refuse_steps(place, wanted, bool(told))
    steps = found.steps
    if steps is not None:
        arrays = elsewhere = steps.stepped(arrays)
        input, output, samples_axis = steps.inputs, steps.outputs, None
    try:
        ins, outs, notes = choose(place, arrays, input, output, output_path, elsewhere)
    except RaffiaError as error:
        raise RaffiaError(f"{error} {found.otherwise}".strip()) from None
    notes += found.notes
    taken = {v.name.partition("[")[0] for v in (*ins, *outs)}
    others = {name: v for name, v in (arrays | elsewhere).items() if v.name.partition("[")[0] not in taken}
    pool = {name: v for name, v in others.items() if name not in attributes.bounds(arrays | elsewhere)}
    asked = Asked(
        pick(place, pool, coordinates, "coordinates") if coordinates is not None else [],
        pick(place, pool, cells, "cells") if cells is not None else [],
        pick(place, pool, mask, "mask")[0] if mask is not None else None,
        convention,
        vectors=domain is not None and domain.tabular,
    )
    known = None if asked.vectors else domain
    with naming(place):
        inputs, outputs, said = _columns(ins, outs, pool, known, samples_axis, _shape(reshape))
        said = [note for note in said if steps is None or not note.startswith("samples are along")]  # which we have put there
        notes += [*dict.fromkeys(note for v in (*ins, *outs) for note in v.notes), *said]
        sides = as_told(inputs, outputs, known) if known is not None else spaces_of(place, inputs, outputs, pool, asked, notes)
    notes += [] if told else _unused(others, sides)
    paths = (place, place if output_path is None else Path(output_path))
    places = dict.fromkeys(f"{'' if v.path in paths else ':'}{v.name}" for side in sides for v in side.coordinates)
    notes = [f"{len(inputs[0])} samples.", *notes]
    (domain, frame), (codomain, its_frame) = ((side.space, side.frame) for side in sides)
    beside = None if parameters is None else Path(parameters)
    given = frozenset(name for name, value in (("stride", stride), ("window", window)) if value is not None)
    return Source(
        place, domain, codomain, inputs, outputs, settings, notes, frame, its_frame, tuple(places), beside, steps, given
    )


def _as_written(arrays: Variables, asked: Convention) -> Convention:
    """What trajectories of ours say of their grid; where they do not, what was asked for."""
    ours = own.domain_of_trajectories(arrays)
    if ours is None:
        return asked
    extent = ours.extents if asked.extent is None else asked.extent
    return Convention(None, tuple(kind.name for kind in ours.kinds), extent, "as the file says")


def _refuse_steps(path: Path, wanted: Wanted, ours: bool) -> None:
    """Refuse options of trajectories for pairs that are there as such."""
    if wanted.flags:
        what = "a file of raffia's pairs" if ours else "inputs and outputs that are named"
        raise RaffiaError(
            f"{path}: {wanted.flags[0]} is for trajectories, which pairs are made of here; it does not go with {what}."
        )


def told_layout(
    table: str | None,
    sample_column: Names | None,
    coordinates: Names | None,
    resample: str | int | None,
    files: str | None,
    wanted: tuple[str, ...],
) -> Layout:
    """What the caller says of tables and folders, and the arrays that have a row for each sample."""
    samples, places = tuple(listed(sample_column)), tuple(listed(coordinates))
    return Layout(table or "", samples, places, *resampling(resample), files or "", wanted=wanted)


def read(path: str | os.PathLike[str], domain: Space | None = None, **options: Any) -> Dataset:
    """All pairs in a file, with the options of `open_source`. What a file of ours says of its domain comes first."""
    return open_source(path, domain=domain, **options).dataset()


def _columns(
    ins: list[Variable],
    outs: list[Variable],
    pool: Variables,
    domain: Space | None,
    samples: SamplesAxis,
    shape: tuple[int, ...],
) -> tuple[list[Column], list[Column], list[str]]:
    """Samples of all variables, along the first axes if a domain is given, and what there is to say of them."""
    both, notes = (*ins, *outs), []
    if domain is not None and samples is None:
        whole = [len(v.shape) == 1 + domain.ndim for v in both]
        first = 0 if domain.one_channel is not domain else None
        parts = [Column(v, plain=fits, channel=first if fits else None) for v, fits in zip(both, whole, strict=True)]
        if len({len(part) for part in parts}) != 1:
            raise RaffiaError(unpaired(ins, outs))
    else:
        found = samples_axes(ins, outs, pool, samples)
        parts = [column(v, axis, lengths(pool), shape) for v, axis in zip(both, found.axes, strict=True)]
        check_reshaped(parts, shape)
        notes = [*found.notes, *(note for part in parts for note in part.notes)]
    return parts[: len(ins)], parts[len(ins) :], notes


def _shape(given: str | tuple[int, ...] | None) -> tuple[int, ...]:
    """The sizes in a text such as 26,22."""
    words = [] if given is None else str(given).strip("()[]").removesuffix(",").split(",")
    try:
        sizes = tuple(int(word) for word in words)
    except ValueError:
        sizes = (0,)
    if any(size < 1 for size in sizes) or len(sizes) > 3:
        raise RaffiaError(
            f"reshape=… ({FLAGS['reshape']}) must be the sizes of up to three axes, such as 26,22; got {given!r}."
        )
    return sizes


def _unused(others: Variables, sides: tuple[Side, Side]) -> list[str]:
    """The arrays of numbers that have no part in it."""
    used = {v.name for side in sides for v in side.used}
    left = [v for v in others.values() if v.numeric and v.name not in used]
    more = f", and {len(left) - LISTED} more" if len(left) > LISTED else ""
    return [f"not used: {shapes(left[:LISTED])}{more}."] if left else []
