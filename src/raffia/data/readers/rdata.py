"""R's files, .rda, .RData and .rds, by pyreadr if it is installed: a data frame is a table, a matrix an array."""

import bz2
import gzip
import lzma
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from raffia.data.readers import in_memory
from raffia.data.readers.damage import guarded
from raffia.data.readers.layout import Layout
from raffia.data.readers.variable import Variable, unpackable
from raffia.errors import RaffiaError

PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip, b"BZh": bz2, b"\xfd7zXZ": lzma}
"""How a file that begins with these bytes is packed."""


def variables(path: Path, layout: Layout) -> dict[str, Variable]:
    """The arrays of the one object in a file of R."""
    try:
        pyreadr = import_module("pyreadr")
    except ImportError:
        raise RaffiaError(
            f"{path} is a file of R, which the package pyreadr reads. Run: pip install pyreadr; or write a table in R: "
            "write.csv(x, 'x.csv', row.names = FALSE)."
        ) from None
    with guarded(path):
        _check_size(path)
        objects = pyreadr.read_r(str(path))
    if len(objects) != 1:
        names = ", ".join(map(str, objects))
        raise RaffiaError(f"{path} holds {len(objects)} objects: {names}. Save the one that is meant: saveRDS(x, 'x.rds').")
    (content,) = objects.values()
    return {name: replace(v, path=path) for name, v in in_memory.variables(content, layout).items()}


def _check_size(path: Path) -> None:
    """Refuse a file that unpacks to many times its size."""
    most = unpackable(path.stat().st_size)
    with path.open("rb") as file:
        start = file.read(5)
    for mark, library in PACKED.items():
        if start.startswith(mark):
            with library.open(path) as unpacked:
                while piece := unpacked.read(2**20):
                    most -= len(piece)
                    if most < 0:
                        raise RaffiaError(f"{path} unpacks to many times its size. In R, save it with compress = FALSE.")
