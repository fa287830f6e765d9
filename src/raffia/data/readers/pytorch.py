"""PyTorch files of tensors, alone or in dictionaries and lists; torch refuses all else in them."""

import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from raffia.data.readers import nested
from raffia.data.readers.damage import Damaged, guarded
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

ROOM = 8  # times the bytes of the file that tensors may have: views of one storage may overlap
FEW = 16  # tensors of one shape in a list that have names of their own


def variables(path: Path) -> dict[str, Variable]:
    """The tensors of a file, named by their keys; the whole file is read."""
    content, records = _content(path)
    size = path.stat().st_size

    def array(part: Any) -> np.ndarray:
        if type(part) is not np.ndarray:  # numbers in dictionaries are arrays of NumPy
            stored = part.untyped_storage().nbytes()  # torch makes room for all that is claimed
            if stored > size or (records and stored and stored not in records):
                raise RaffiaError(f"{path} is damaged: a tensor claims more bytes than there are of it.")
        tensor = torch.as_tensor(part)
        plain = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
        return (tensor if plain else tensor.float()).detach().resolve_conj().resolve_neg().numpy()

    arrays = nested.variables(path, content, FEW, ROOM * size, array)
    return {name or path.stem: replace(v, name=name or path.stem) for name, v in arrays.items()}


def _content(path: Path) -> tuple[Any, set[int]]:
    """What torch reads of a file, and the lengths of its records."""
    with guarded(path):
        records = _records(path)
        try:
            return torch.load(path, weights_only=True, map_location="cpu"), records
        except pickle.UnpicklingError:
            raise RaffiaError(
                f"{path} holds more than tensors, or is damaged, and raffia opens no other pickles: they could run any code. "
                "Save a dictionary of plain tensors instead."
            ) from None


def _records(path: Path) -> set[int]:
    """The lengths of all records in an archive, whose checksums torch does not compare; none in a file of the older kind."""
    if not zipfile.is_zipfile(path):
        return set()
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        packed = any(record.compress_type != zipfile.ZIP_STORED for record in records)
        if packed or sum(record.file_size for record in records) > path.stat().st_size:
            raise RaffiaError("it is packed or its records overlap, which torch.save never does. Write it with torch.save.")
        if (bad := archive.testzip()) is not None:
            raise Damaged(f"the checksum of {bad} is wrong")
        return {record.file_size for record in records}
