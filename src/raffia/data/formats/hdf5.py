"""HDF5 files: every array in every group, named by its path and read lazily."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.formats.variable import Rows, Variable, check_stored, guarded, optional

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def variables(path: Path, reverse: bool = False) -> dict[str, Variable]:
    """The arrays of an HDF5 file; `reverse` their axes, as MATLAB's files need."""
    h5py = _h5py()
    held: dict[str, Variable] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None and item.dtype.kind in "fiubcSU":
            attributes = {key: item.attrs[key] for key in item.attrs if key not in ("REFERENCE_LIST", "DIMENSION_LIST")}
            if not str(_text(attributes.get("NAME", ""))).startswith(NO_VARIABLE):
                if item.chunks is None and not item.external and not item.is_virtual and item.id.get_offset() is not None:
                    stored = min(item.id.get_storage_size(), path.stat().st_size)
                    check_stored(path, name, item.shape, item.dtype.itemsize, stored)
                shape, dims = tuple(int(axis) for axis in item.shape), _dims(item)
                if reverse:
                    shape, dims = shape[::-1], dims and dims[::-1]
                load = partial(_load, path, name, reverse)
                held[name] = Variable(name, shape, item.dtype.str, dims, plain(attributes), path, load)

    with guarded(path), h5py.File(path, "r") as file:
        file.visititems(visit)
    return held


def _load(path: Path, name: str, reverse: bool, rows: Rows) -> np.ndarray:
    with _h5py().File(path, "r") as file:
        array = file[name]
        if rows is None:
            return array[()].T if reverse else array[()]
        return array[..., rows].T if reverse else array[rows]


def _dims(item: Any) -> tuple[str, ...] | None:
    """The names of the axes, by label or by the scale attached to them."""
    names = [axis.label or (axis[0].name.rpartition("/")[2] if len(axis) else "") for axis in item.dims]
    if len(names) == 1 and _text(item.attrs.get("CLASS")) == "DIMENSION_SCALE":
        names = [item.name.rpartition("/")[2]]
    return tuple(names) if names and all(names) else None


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def plain(attributes: dict[str, Any]) -> dict[str, Any]:
    """Numbers and text; one-element arrays are their element."""
    kept = {}
    for key, value in attributes.items():
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if isinstance(value, (bytes, str)):
            kept[key] = _text(value)
        elif isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "fiub":
            kept[key] = value.tolist()
    return kept


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise optional("h5py", "HDF5, NetCDF-4 and MATLAB 7.3") from None
    return h5py
