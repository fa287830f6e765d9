"""Zarr stores, of version 2 or 3: an array, or groups of arrays, in a folder.

A store is not believed: links out of the folder are refused, so are chunks that are not there, which Zarr reads as zeros, codecs
other than the usual ones, and chunks that would unpack to more than a chunk.
"""

import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import product, takewhile
from pathlib import Path
from typing import IO, Any

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, guarded, naming
from raffia.data.readers.variable import LOOKED_AT, MODEST, Rows, Variable, check_count, check_inflated, held, optional
from raffia.errors import RaffiaError

MARKS = ("zarr.json", ".zgroup", ".zarray")
DESCRIPTIONS = (*MARKS, ".zattrs", ".zmetadata")
PACKING = ("blosc", "zstd", "gzip", "zlib", "lz4")
UNPACKED = ("bytes", "transpose", "crc32c", "shuffle", "bitround", "quantize")


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a store, named by their path in it and read chunk by chunk."""
    arrays = {}
    for place in list(_places(path)):
        if not _codecs(path / place):
            continue
        with guarded(path):
            array = _opened(path, place)
            attributes, dtype = array.attrs.asdict(), np.dtype(array.dtype)
            dims = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
            block = (array.chunks or (1,))[0]
        if dtype.kind in "fiubcSU":
            name, load = place or path.stem, partial(_load, path, place)
            axes = tuple(map(str, dims)) if type(dims) in (list, tuple) and all(dims) else None
            plain = {key: value for key, value in attributes.items() if not key.startswith("_ARRAY")}
            arrays[name] = Variable(path, name, tuple(array.shape), dtype.str, load, dims=axes, attributes=plain, block=block)
    return arrays


def check(path: Path) -> None:
    """Refuse a store with links, with chunks that are not there or with unknown codecs, before another library reads it."""
    with naming(path):
        for place in list(_places(path)):
            if names := _codecs(path / place):
                _check_chunks(_opened(path, place), path, place, names, None)


def _places(path: Path) -> Iterator[str]:
    """The folders of arrays in a store, in order; chunks are not looked for."""
    for count, (folder, inner, files) in enumerate(os.walk(path)):
        check_count(path, count)
        inner.sort()
        for name in (*inner, *(set(files) & set(DESCRIPTIONS))):
            _check_link(path, Path(folder, name))
        if ".zarray" in files or ("zarr.json" in files and _described(Path(folder)).get("node_type") == "array"):
            inner.clear()
            yield "" if Path(folder) == path else Path(folder).relative_to(path).as_posix()


def _described(folder: Path) -> dict[str, Any]:
    """What a store says of an array or a group."""
    place = folder / (".zarray" if (folder / ".zarray").is_file() else "zarr.json")
    with guarded(place):
        return dict(json.loads(place.read_bytes()))


def _codecs(folder: Path) -> list[str]:
    """How chunks were written, each codec by its name; none where Python objects were."""
    described = _described(folder)
    with guarded(folder):
        codecs = [*(described.get("codecs") or []), *(described.get("filters") or []), described.get("compressor")]
        names = [str(codec.get("id") or codec.get("name")).removeprefix("numcodecs.") for codec in codecs if codec]
    if described.get("dtype") == "|O" or any(name.startswith("vlen-") for name in names):
        return []
    if not {*names} <= {*PACKING, *UNPACKED} or sum(name in PACKING for name in names) > 1:
        raise RaffiaError(
            f"{folder} is written with {' and '.join(names)}; raffia reads one of {', '.join(PACKING)}, and not in shards. "
            "Write it by zarr.create_array."
        )
    return names or ["bytes"]


def _opened(path: Path, place: str) -> Any:
    with guarded(path):
        return optional("zarr", "Zarr").open_array(path, path=place, mode="r")


def _load(path: Path, place: str, rows: Rows) -> np.ndarray:
    names, array = _codecs(path / place), _opened(path, place)
    _check_chunks(array, path, place, names, rows)
    with guarded(path, place or path.stem):
        return np.asarray(array[...] if rows is None else array[rows])


def _check_chunks(array: Any, path: Path, place: str, names: list[str], rows: Rows) -> None:
    """Refuse chunks that are not there or links, and those that unpack to another length than they should."""
    steps, values = array.chunks, math.prod(array.chunks)
    touched = range(*(rows or slice(None)).indices(array.shape[0])) if array.shape else range(0)
    grid = [range(-(-size // step)) for size, step in zip(array.shape, steps, strict=True)]
    if grid and (touched or rows):
        grid[0] = range(touched[0] // steps[0], touched[-1] // steps[0] + 1) if touched else range(0)
    if values > LOOKED_AT and values > held(path / place, values):
        raise Damaged(f"its chunks of shape {array.chunks} have more values than the store has bytes; write smaller ones")
    checked = {path}
    for at in product(*grid):
        chunk = path / place / (key := array.metadata.encode_chunk_key(at))
        for folder in takewhile(lambda folder: folder not in checked, chunk.parents):
            _check_link(path, folder)
        checked.update(chunk.parents)
        _check_link(path, chunk)
        if not chunk.is_file():
            raise RaffiaError(
                f"{path}: array {place or path.stem} has no chunk {key}: the copy is incomplete, or all its values are the fill value. "
                "Copy the store again, or write it with zarr.config.set({'array.write_empty_chunks': True})."
            )
        with chunk.open("rb") as file:
            _check_packed(file, chunk.stat().st_size, values * np.dtype(array.dtype).itemsize, names)


def _check_packed(file: IO[bytes], size: int, whole: int, names: list[str]) -> None:
    """Refuse a chunk that says or hides another length: decoders believe it, and Blosc's reads what lies behind in memory."""
    head, packing = file.read(18).ljust(18, b"\0"), next((name for name in names if name in PACKING), None)
    claimed = 0
    if packing == "blosc":
        unpacked, packed = struct.unpack_from("<4xI4xI", head)
        claimed = unpacked if packed == size - 4 * ("crc32c" in names) else 2**62
    elif packing == "zstd":
        claimed = _zstd(head, size)
    elif packing == "lz4":
        claimed = int.from_bytes(head[:4], "little")
    elif packing:
        file.seek(0)
        with guarded(Path(file.name)):
            check_inflated(partial(file.read, size), size, whole + 64, 32 + zlib.MAX_WBITS)
    damaged_if(claimed > whole + 64, f"chunk {Path(file.name).name} is damaged, or unpacks to more than a chunk")


def _zstd(head: bytes, size: int) -> int:
    """The bytes that a frame of Zstandard says it unpacks to; the most it can, where it does not say."""
    flags = head[4]
    single = flags >> 5 & 1
    length = (single, 2, 4, 8)[flags >> 6]
    at = 6 - single + (0, 1, 2, 4)[flags & 3]
    return int.from_bytes(head[at : at + length], "little") if length else min(2**15 * size, 2**62) * (2**15 * size > MODEST)


def _check_link(path: Path, place: Path) -> None:
    """Refuse symbolic links, pipes and the like in a store, which lead to other files."""
    if os.path.lexists(place) and not (stat.S_ISREG(mode := place.lstat().st_mode) or stat.S_ISDIR(mode)):
        raise RaffiaError(
            f"{path}: {place.relative_to(path)} is a link to another place or no plain file, and raffia reads no file that was not "
            "named. Copy the store with what its links lead to (cp -rL)."
        )


def is_store(path: Path) -> bool:
    """Whether a folder is a store."""
    return path.is_dir() and any((path / mark).is_file() for mark in MARKS)
