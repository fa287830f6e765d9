"""Zarr stores, of version 2 or 3: an array, or groups of arrays, in a folder."""

import math
import struct
from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.formats.variable import Rows, Variable, guarded, optional

MANY = 10**6  # chunks that are read at once
MARKS = ("zarr.json", ".zgroup", ".zarray")


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a store, named by their path in it and read chunk by chunk."""
    zarr = _zarr()
    held = {}
    with guarded(path):
        for name, place, array in _arrays(zarr, path):
            attributes = {key: value for key, value in array.attrs.asdict().items() if not key.startswith("_ARRAY")}
            dims = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
            known = tuple(str(axis) for axis in dims) if dims and all(dims) else None
            dtype = np.dtype(array.dtype)
            if dtype.kind in "fiubcSU":
                held[name] = Variable(name, tuple(array.shape), dtype.str, known, attributes, path, partial(_load, path, place))
    return held


def _arrays(zarr: Any, path: Path) -> Iterator[tuple[str, str, Any]]:
    try:
        group = zarr.open_group(path, mode="r", use_consolidated=False)
    except (zarr.errors.ContainsArrayError, zarr.errors.NodeTypeValidationError, FileNotFoundError):
        yield path.stem, "", zarr.open_array(path, mode="r")
        return
    for name, item in sorted(group.members(max_depth=None, use_consolidated_for_children=False), key=itemgetter(0)):
        if isinstance(item, zarr.Array):
            yield name, name, item


def _load(path: Path, place: str, rows: Rows) -> np.ndarray:
    array = _zarr().open_array(path, path=place, mode="r")
    _check_chunks(array, path / place, rows)
    return np.asarray(array[...] if rows is None else array[rows])


def _check_chunks(array: Any, folder: Path, rows: Rows) -> None:
    """Refuse chunks of another length than they say: the decoder of Blosc believes them, and reads what lies behind in memory."""
    if not any("blosc" in type(codec).__name__.lower() for codec in array.compressors) or array.shards is not None:
        return
    touched = range(*(rows or slice(None)).indices(array.shape[0])) if array.shape else range(0)
    grid = [range(-(-size // step)) for size, step in zip(array.shape, array.chunks, strict=True)]
    if grid and touched:
        grid[0] = range(touched[0] // array.chunks[0], touched[-1] // array.chunks[0] + 1)
    if math.prod(len(axis) for axis in grid) > MANY:
        raise ValueError(f"it claims chunks of shape {array.chunks}, more than {MANY} of them")
    whole = math.prod(array.chunks) * np.dtype(array.dtype).itemsize
    for place in product(*grid):
        chunk = folder / array.metadata.encode_chunk_key(place)
        if chunk.is_file():
            with chunk.open("rb") as file:
                head = file.read(16)
            if len(head) < 16 or struct.unpack("<4xI4xI", head) != (whole, chunk.stat().st_size):
                raise ValueError(f"chunk {chunk.name} is damaged")


def is_store(path: Path) -> bool:
    """Whether a folder is a store."""
    return path.is_dir() and any((path / mark).is_file() for mark in MARKS)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise optional("zarr", "Zarr") from None
    return zarr
