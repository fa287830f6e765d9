"""PyTorch files of tensors, alone or in dictionaries and lists; torch refuses all else in them."""

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data.readers import nested
from raffia.data.readers.damage import Damaged, guarded
from raffia.data.readers.variable import Variable, check_size
from raffia.errors import RaffiaError

FEW = 16  # tensors of one shape in a list that have names of their own


def variables(path: Path) -> dict[str, Variable]:
    """The tensors of a file, named by their keys; the whole file is read."""
    tensors = {}
    content, records = _content(path)
    for key, several, samples in nested.arrays(path, content, FEW):
        name, parts = key or path.stem, [torch.as_tensor(part) for part in several]
        for part in several:
            held = 0 if type(part) is np.ndarray else part.untyped_storage().nbytes()  # numbers in dictionaries are such
            if held > path.stat().st_size or (records and held and held not in records):  # torch makes room for it all the same
                raise RaffiaError(f"{path} is damaged: {name} claims more bytes than there are of it.")
        first = parts[0]
        shape = (len(parts), *first.shape) if samples else tuple(first.shape)
        if samples and sum(part.nbytes for part in parts) > path.stat().st_size:
            raise RaffiaError(f"{path} is damaged: the tensors in {name} have more bytes than the file.")
        check_size(path, name, shape, first.element_size())
        tensors[name] = nested.variable(path, name, [_array(part) for part in parts], samples)
    return tensors


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


def _array(tensor: Tensor) -> np.ndarray:
    known = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if known else tensor.float()).detach().resolve_conj().resolve_neg().numpy()
