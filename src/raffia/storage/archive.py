"""Configurations and tensors in one safetensors file: tensors, and JSON in the header. Nothing is ever unpickled.

A configuration is an estimator or a dataclass, written as the public name of its class and its constructor's arguments. Reading
makes objects of the classes it is given, and of no others.
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.storage.atomic import atomic
from raffia.validation import check_kinds

FORMAT, VERSIONS = "raffia", ("2", "3")

Path = str | os.PathLike[str]
Classes = Mapping[str, Callable[..., Any]]
DAMAGE = (
    SafetensorError, ValueError, OSError, KeyError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
)  # fmt: skip
"""Errors that reading a damaged or hostile file may raise, in addition to our own."""


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a dictionary of configurations, numbers, strings and tensors; atomic."""
    tensors: dict[str, Tensor] = {}
    header = json.dumps(encode(content, tensors), allow_nan=False)
    try:
        with atomic(path) as temporary:
            save_file(tensors, temporary, metadata={"format": FORMAT, "version": VERSIONS[-1], "content": header})
    except SafetensorError as error:  # a full disk, as safetensors says it
        raise RaffiaError(f"cannot write {os.fspath(path)}: {error}.") from None


def read(path: Path, classes: Classes = MappingProxyType({})) -> dict[str, Any]:
    """Read what `write` wrote, with objects of these classes, by name. Anything else is one `RaffiaError`."""
    if not os.path.isfile(path):
        raise RaffiaError(f"there is no file {os.fspath(path)}.")
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RaffiaError(
                    f"{os.fspath(path)} is a safetensors file, but not one of raffia's. Pass a file written by model.save."
                )
            if metadata.get("version") not in VERSIONS:
                raise RaffiaError(
                    f"{os.fspath(path)} has format version {metadata.get('version')!r}; this raffia reads {' and '.join(VERSIONS)}. "
                    "Upgrade raffia, or save the model again."
                )
            # a copy, lest what happens to the file later reach the tensors
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dictionary)
        content = decode(json.loads(metadata["content"]), tensors, classes)
    except RaffiaError as error:
        raise error if os.fspath(path) in str(error) else RaffiaError(f"{os.fspath(path)}: {error}") from None
    except DAMAGE as error:
        raise RaffiaError(f"{os.fspath(path)} is damaged or not a raffia file ({reason_of(error)}).") from None
    if not isinstance(content, dict):
        raise RaffiaError(f"{os.fspath(path)} is damaged: it holds no content.")
    return content


def encode(value: Any, tensors: dict[str, Tensor]) -> Any:
    """JSON for a configuration; tensors go into `tensors` and are named in the JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, dict):
        return {"dict": {str(key): encode(entry, tensors) for key, entry in value.items()}}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encode(entry, tensors) for entry in value]}
    if isinstance(value, (Tensor, np.ndarray)):
        name, held = f"tensor_{len(tensors)}", torch.as_tensor(value).detach().cpu().resolve_conj()
        kind = "complex" if held.is_complex() else "tensor"  # as pairs of real numbers: safetensors has no complex128
        tensors[name] = (torch.view_as_real(held) if held.is_complex() else held).contiguous().clone()
        return {kind: name}
    if isinstance(value, BaseEstimator):
        arguments = value.get_params(deep=False)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        arguments = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, torch.nn.Module):
        raise RaffiaError(
            "cannot save a torch module without its code: describe it by a raffia.features.Network, whose build() makes the module."
        )
    else:
        raise RaffiaError(
            f"cannot save {value!r}: a configuration holds numbers, strings, tensors and raffia's own objects only."
        )
    return {"class": _name_of(type(value)), "arguments": encode(arguments, tensors)}


def decode(value: Any, tensors: dict[str, Tensor], classes: Classes) -> Any:
    """The inverse of `encode`."""
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: decode(entry, tensors, classes) for key, entry in value["dict"].items()}
    if "list" in value:
        return [decode(entry, tensors, classes) for entry in value["list"]]
    if "tuple" in value:
        return tuple(decode(entry, tensors, classes) for entry in value["tuple"])
    if "float" in value:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["float"]]
    if "tensor" in value:
        return tensors.pop(value["tensor"])  # each is written for one place: a file cannot make many of one
    if "complex" in value:
        return torch.view_as_complex(tensors.pop(value["complex"]))
    return built(value["class"], decode(value["arguments"], tensors, classes), classes)


def built(name: str, arguments: dict[str, Any], classes: Classes) -> Any:
    """An object of the class of this name; what our own classes are given must be of the kinds that they say."""
    cls = _class_named(name, classes)
    if _is_ours(cls):
        check_kinds(name, cls, arguments)
    return cls(**arguments)


def reason_of(error: BaseException) -> str:
    """A foreign error in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _is_ours(cls: Callable[..., Any]) -> bool:
    return cls.__module__.split(".")[0] == "raffia"


def _name_of(cls: type) -> str:
    """Return the name of a class in a file: for a class of raffia without its module, which may move, else with it."""
    return cls.__name__ if _is_ours(cls) else f"{cls.__module__}.{cls.__qualname__}"


def _class_named(path: str, classes: Classes) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    if name in classes:
        return classes[name]
    if module and module.split(".")[0] != "raffia":  # version 2 has paths of raffia's own classes
        raise RaffiaError(
            f"this file needs the class {path}, which is not part of raffia. Pass raffia.load(path, classes=[{name}])."
        )
    raise RaffiaError(
        f"this file names {path} as a configuration, which it is not, or which this version of raffia does not have."
    )
