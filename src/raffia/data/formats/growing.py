"""An array that is written a part at a time, where memory does not hold the whole: .npy, .h5 or .zarr."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.formats.variable import optional
from raffia.errors import RaffiaError
from raffia.storage import atomic

SUFFIXES = (".npy", ".h5", ".hdf5", ".zarr")


@contextmanager
def growing(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype, rows: int) -> Iterator[Any]:
    """An array of paths (n, states, …) in a new file, to be assigned to; atomic. What has chunks has one for a state of so many rows."""
    chunks = (min(rows, shape[0]), 1, *shape[2:])
    with _folder(path) if path.suffix == ".zarr" else atomic(path) as temporary:
        if path.suffix == ".npy":
            mapped = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
            yield mapped
            mapped.flush()
            del mapped
        elif path.suffix == ".zarr":
            yield (
                _zarr()
                .open_group(str(temporary), mode="w")
                .create_array(name, shape=shape, dtype=dtype, chunks=chunks, config={"write_empty_chunks": True})
            )
        else:
            with _h5py().File(temporary, "w") as file:
                yield file.create_dataset(name, shape, dtype, chunks=chunks)


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """A folder beside `path`, renamed to it in the end."""
    if path.exists():
        raise RaffiaError(f"{path} is there already: remove it first, or name another.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise RaffiaError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise optional("zarr", "Zarr") from None
    return zarr


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise optional("h5py", "HDF5") from None
    return h5py
