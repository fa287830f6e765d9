"""Datasets in NumPy's .npz files: arrays `a` and `y`, and `raffia`, a JSON text with the domain and the settings."""

import json
import os
import zipfile
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.files import atomic
from raffia.spaces import Domain

Path = str | os.PathLike[str]


def write(path: Path, dataset: Dataset) -> None:
    """Write a dataset; atomic."""
    text = json.dumps({"domain": asdict(dataset.domain), "settings": dataset.settings})
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, a=dataset.a.numpy(force=True), y=dataset.y.numpy(force=True), raffia=np.array(text))


def read(path: Path, domain: Domain | None = None) -> Dataset:
    """Read a dataset. `domain` serves files that do not say where their functions live; what a file says comes first."""
    arrays = _arrays(path)
    a, y = (_tensor(path, arrays, name) for name in "ay")
    if len(a) != len(y):
        raise RaffiaError(f"a and y in {os.fspath(path)} must pair up; got {len(a)} inputs and {len(y)} outputs.")
    told = _told(path, arrays)
    if told is None and domain is None:
        raise RaffiaError(
            f"{os.fspath(path)} does not say whether its grid is periodic: pass domain=Domain(dim, periodic=…), "
            "on the command line --periodic or --box."
        )
    found, settings = told or (domain, {})
    assert found is not None
    return Dataset(a, y, found, settings)


def read_inputs(path: Path) -> tuple[Tensor, Domain | None]:
    """The array `a` of an .npz file, or the one array of an .npy file; and its domain, where the file says."""
    arrays = _arrays(path)
    told = _told(path, arrays)
    return _tensor(path, arrays, "a"), told[0] if told else None


def dimension(path: Path) -> int:
    """How many grid axes the inputs in a file have."""
    return read_inputs(path)[0].ndim - 1


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if not os.path.isfile(path):
        raise RaffiaError(f"there is no file {os.fspath(path)}.")
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return {"a": content}
        with content:
            return {key: content[key] for key in content.files}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        reason = "no arrays in it" if "pickle" in str(error) else (str(error).splitlines() or [type(error).__name__])[0]
        raise RaffiaError(f"{os.fspath(path)} is damaged or not a file of NumPy arrays ({reason}).") from None


def _tensor(path: Path, arrays: dict[str, np.ndarray], name: str) -> Tensor:
    if name not in arrays:
        raise RaffiaError(f"{os.fspath(path)} must hold an array named {name}; it holds {sorted(arrays)}.")
    if arrays[name].dtype not in (np.float32, np.float64):
        raise RaffiaError(f"{name} in {os.fspath(path)} must be float32 or float64; got {arrays[name].dtype}.")
    if arrays[name].ndim == 0 or len(arrays[name]) == 0:
        raise RaffiaError(f"{name} in {os.fspath(path)} must hold at least one sample; it has shape {arrays[name].shape}.")
    return torch.from_numpy(np.ascontiguousarray(arrays[name]))


def _told(path: Path, arrays: dict[str, np.ndarray]) -> tuple[Domain, dict] | None:
    """The domain and the settings that a file of ours carries."""
    if "raffia" not in arrays:
        return None
    try:
        told = json.loads(str(arrays["raffia"]))
        extent = told["domain"]["extent"]
        domain = Domain(**told["domain"] | {"extent": tuple(extent) if isinstance(extent, list) else extent})
        return domain, dict(told["settings"])
    except (ValueError, KeyError, TypeError) as error:
        raise RaffiaError(f"{os.fspath(path)} is damaged: its array raffia is not a description ({error}).") from None
