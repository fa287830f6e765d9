"""Zarr stores, of version 2 or 3: an array, or groups of arrays, in a folder."""

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.variable import Rows, Variable, guarded, optional

MARKS = ("zarr.json", ".zgroup", ".zarray")


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a store, named by their path in it and read chunk by chunk."""
    zarr = _zarr()
    found = {}
    with guarded(path):
        for name, place, array in _arrays(zarr, path):
            attributes = {key: value for key, value in array.attrs.asdict().items() if not key.startswith("_ARRAY")}
            dims = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
            known = tuple(str(axis) for axis in dims) if dims and all(dims) else None
            dtype = np.dtype(array.dtype)
            if dtype.kind in "fiubcSU":
                found[name] = Variable(name, tuple(array.shape), dtype.str, known, attributes, path, _Array(path, place))
    return found


def _arrays(zarr: Any, path: Path) -> Iterator[tuple[str, str, Any]]:
    try:
        group = zarr.open_group(path, mode="r", use_consolidated=False)
    except (zarr.errors.ContainsArrayError, zarr.errors.NodeTypeValidationError, FileNotFoundError):
        yield path.stem, "", zarr.open_array(path, mode="r")
        return
    for name, item in sorted(group.members(max_depth=None, use_consolidated_for_children=False), key=itemgetter(0)):
        if isinstance(item, zarr.Array):
            yield name, name, item


class _Array:
    def __init__(self, path: Path, place: str) -> None:
        self.path, self.place = path, place

    def __call__(self, rows: Rows) -> np.ndarray:
        array = _zarr().open_array(self.path, path=self.place, mode="r")
        return np.asarray(array[...] if rows is None else array[rows])


def is_store(path: Path) -> bool:
    """Whether a folder is a store."""
    return path.is_dir() and any((path / mark).is_file() for mark in MARKS)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise optional("zarr", "Zarr") from None
    return zarr
