"""Zarr stores, of version 2 or 3: an array, or groups of arrays, in a folder."""

from collections.abc import Iterator
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
        root = zarr.open(path, mode="r", **({} if _is_array(path) else {"use_consolidated": False}))
        arrays = [(path.stem, "", root)] if isinstance(root, zarr.Array) else list(_walk(zarr, root, ""))
        for name, place, array in arrays:
            attributes = {key: value for key, value in array.attrs.asdict().items() if not key.startswith("_ARRAY")}
            dims = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
            known = tuple(str(axis) for axis in dims) if dims and all(dims) else None
            dtype = np.dtype(array.dtype)
            if dtype.kind in "fiubcSU":
                found[name] = Variable(name, tuple(array.shape), dtype.str, known, attributes, path, _Array(path, place))
    return found


class _Array:
    def __init__(self, path: Path, place: str) -> None:
        self.path, self.place = path, place

    def __call__(self, rows: Rows) -> np.ndarray:
        array = _zarr().open_array(self.path, path=self.place, mode="r")
        return np.asarray(array[...] if rows is None else array[rows])


def _walk(zarr: Any, group: Any, above: str) -> Iterator[tuple[str, str, Any]]:
    for key, item in group.members(max_depth=None, use_consolidated_for_children=False):
        if isinstance(item, zarr.Array):
            yield key, key, item


def _is_array(path: Path) -> bool:
    return (path / ".zarray").exists()


def is_store(path: Path) -> bool:
    """Whether a folder is a store."""
    return path.is_dir() and any((path / mark).is_file() for mark in MARKS)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise optional("zarr", "Zarr") from None
    return zarr
