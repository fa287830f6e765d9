"""PyTorch files of tensors, alone or in dictionaries and lists; torch refuses all else in them."""

import pickle
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from raffia.data.formats import nested
from raffia.data.formats.variable import Rows, Variable, check_size, guarded
from raffia.errors import RaffiaError

FEW = 16  # tensors of one shape in a list that have names of their own


def variables(path: Path) -> dict[str, Variable]:
    """The tensors of a file, named by their keys; the whole file is read."""
    tensors = {}
    with guarded(path):
        records = _records(path)
        try:
            content = torch.load(path, weights_only=True, map_location="cpu")
        except pickle.UnpicklingError as error:
            if "Weights only load failed" not in str(error) and "Unsupported" not in str(error):
                raise
            raise RaffiaError(
                f"{path} holds more than tensors, or is damaged, and raffia opens no other pickles: they could run any code. "
                "Save a dictionary of plain tensors instead."
            ) from None
        for key, several, samples in nested.arrays(path, content, FEW):
            name, parts = key or path.stem, [torch.as_tensor(part) for part in several]
            for part in several:
                if type(part) is not np.ndarray:  # which is of numbers in dictionaries
                    _check_held(path, name, part, records)
            first = parts[0]
            shape = (len(parts), *first.shape) if samples else tuple(first.shape)
            if samples and sum(part.nbytes for part in parts) > path.stat().st_size:
                raise RaffiaError(f"{path} is damaged: the tensors in {name} have more bytes than the file.")
            check_size(path, name, shape, first.element_size())
            dtype = _array(first[:0] if first.ndim else first).dtype.str
            load = partial(_stacked, parts) if samples else partial(_load, first)
            tensors[name] = Variable(name, shape, dtype, None, {}, path, load)
    return tensors


def _check_held(path: Path, name: str, tensor: Tensor, records: set[int]) -> None:
    """Refuse a tensor that the bytes in the file do not fill: torch makes room for it all the same."""
    held = tensor.untyped_storage().nbytes()
    if held > path.stat().st_size or (records and held and held not in records):
        raise RaffiaError(f"{path} is damaged: {name} claims more bytes than there are of it.")


def _records(path: Path) -> set[int]:
    """The lengths of all records in an archive, whose checksums torch does not compare; none in a file of the older kind."""
    if not zipfile.is_zipfile(path):
        return set()
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        packed = any(record.compress_type != zipfile.ZIP_STORED for record in records)
        if packed or sum(record.file_size for record in records) > path.stat().st_size:
            raise RaffiaError(
                f"{path} is packed or its records overlap, which torch.save never does. Write it with torch.save."
            )
        if (bad := archive.testzip()) is not None:
            raise ValueError(f"the checksum of {bad} is wrong")
        return {record.file_size for record in records}


def _array(tensor: Tensor) -> np.ndarray:
    known = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if known else tensor.float()).detach().resolve_conj().resolve_neg().numpy()


def _load(tensor: Tensor, rows: Rows) -> np.ndarray:
    return _array(tensor if rows is None else tensor[rows]).copy()


def _stacked(tensors: list[Tensor], rows: Rows) -> np.ndarray:
    chosen = tensors if rows is None else tensors[rows]
    return np.stack([_array(tensor) for tensor in chosen]) if chosen else _array(torch.stack(tensors[:1])[:0])
