"""PyTorch files of tensors, alone or in dictionaries and lists; nothing else in them is unpickled."""

import pickle
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data.formats.variable import Rows, Variable, check_count, check_size, guarded
from raffia.errors import RaffiaError


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
                f"{path} holds more than tensors, or is damaged, and raffia never unpickles: it could run any code. "
                "Save a dictionary of plain tensors instead."
            ) from None
        for name, tensor in _walk(path, content):
            name = name or path.stem
            held = tensor.untyped_storage().nbytes()  # torch makes room for a tensor that its bytes do not fill
            if held > path.stat().st_size or (records and held and held not in records):
                raise RaffiaError(f"{path} is damaged: {name} claims more bytes than there are of it.")
            check_size(path, name, tuple(tensor.shape), tensor.element_size())
            dtype = _array(tensor[:0] if tensor.ndim else tensor).dtype.str
            tensors[name] = Variable(name, tuple(tensor.shape), dtype, None, {}, path, partial(_load, tensor))
    return tensors


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
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).detach().resolve_conj().resolve_neg().numpy()


def _load(tensor: Tensor, rows: Rows) -> np.ndarray:
    return _array(tensor if rows is None else tensor[rows]).copy()


def _walk(path: Path, content: Any) -> Iterator[tuple[str, Tensor]]:
    """Tensors in nested dictionaries, lists and tuples; their names are joined by dots."""
    count, left = 0, [("", content)]
    while left:
        name, value = left.pop(0)
        check_count(path, count := count + 1)
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, (dict, list, tuple)):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            check_count(path, len(value))
            left += [(f"{name}.{key}" if name else str(key), entry) for key, entry in entries]
