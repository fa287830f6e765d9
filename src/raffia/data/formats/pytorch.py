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

from raffia.data.formats.variable import Variable, Whole, check_size, guarded
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
        for name, tensor in _walk(content, ""):
            name = name or path.stem
            held = tensor.untyped_storage().nbytes()  # torch makes room for a tensor that its bytes do not fill
            if held > path.stat().st_size or (records and held and held not in records):
                raise RaffiaError(f"{path} is damaged: {name} claims more bytes than there are of it.")
            check_size(path, name, tuple(tensor.shape), tensor.element_size())
            array = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).detach().resolve_conj().resolve_neg().numpy()
            tensors[name] = Variable(name, array.shape, array.dtype.str, None, {}, path, Whole(partial(np.asarray, array)))
    return tensors


def _records(path: Path) -> set[int]:
    """The lengths of all records in an archive, whose checksums torch does not compare; none in a file of the older kind."""
    if not zipfile.is_zipfile(path):
        return set()
    with zipfile.ZipFile(path) as archive:
        if (bad := archive.testzip()) is not None:
            raise ValueError(f"the checksum of {bad} is wrong")
        return {record.file_size for record in archive.infolist()}


def _walk(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """Tensors in nested dictionaries, lists and tuples; their names are joined by dots."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, (dict, list, tuple)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _walk(entry, f"{name}.{key}" if name else str(key))
