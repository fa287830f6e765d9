"""Arrays that are written a part at a time, where memory does not hold the whole: .npy, .h5 or .zarr."""

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError
from raffia.storage import atomic

Shape = tuple[int, ...]
SUFFIXES = (".npy", ".h5", ".hdf5", ".zarr")


@contextmanager
def growing(
    path: Path, shapes: Mapping[str, Shape], dtype: np.dtype, chunks: Mapping[str, Shape], beside: Mapping[str, np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Arrays in a new file, by name, to be assigned to; atomic. What has chunks has these; .npy holds one array, and nothing beside."""
    with _folder(path) if path.suffix == ".zarr" else atomic(path) as temporary:
        if path.suffix == ".npy":
            ((name, shape),) = shapes.items()
            mapped = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
            yield {name: mapped}
            mapped.flush()
            del mapped
        elif path.suffix == ".zarr":
            group = optional("zarr", "Zarr").open_group(str(temporary), mode="w")
            for name, values in beside.items():
                group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=values.shape)[...] = values
            create = partial(group.create_array, dtype=dtype, config={"write_empty_chunks": True})
            yield {name: create(name, shape=shape, chunks=chunks[name]) for name, shape in shapes.items()}
        else:
            with optional("h5py", "HDF5").File(temporary, "w") as file:
                for name, values in beside.items():
                    file.create_dataset(name, data=values)
                yield {name: file.create_dataset(name, shape, dtype, chunks=chunks[name]) for name, shape in shapes.items()}


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
