"""Datasets of ours: NumPy's .npz files with arrays `a` and `y`, and `raffia`, a JSON text with the domain and the settings.

Trajectories have arrays `u` (n, steps + 1, *state), `t`, the coordinates `x`, `y`, `z` along the axes, and `settings`, a JSON text.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from raffia.data.dataset import Dataset
from raffia.data.readers import Variable
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Grid, Space
from raffia.storage import atomic


def write(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """Write a dataset; atomic."""
    region = dataset.domain.one_channel
    if not isinstance(region, Domain) or dataset.output is not None:
        raise RaffiaError(
            f"only datasets of functions on one Domain are written; got {dataset.domain} and output={dataset.output}. "
            "Write the arrays with np.savez, and their nodes beside them."
        )
    count = {"channels": dataset.domain.channels} if dataset.domain.has_components else {}
    text = json.dumps({"domain": asdict(region), **count, "settings": dataset.settings})
    _savez(path, a=dataset.a.numpy(force=True), y=dataset.y.numpy(force=True), raffia=np.array(text))


def write_trajectories(path: str | os.PathLike[str], u: Tensor, grid: Grid, dt: float, settings: dict[str, Any]) -> None:
    """Write trajectories on a grid, (n, steps + 1, *state), with their times and coordinates; atomic."""
    axes = {name: axis.numpy() for name, axis in zip("xyz", grid.axes(), strict=False)}
    text = json.dumps(settings | {"domain": asdict(grid.domain)})
    _savez(path, u=u.numpy(force=True), t=dt * np.arange(u.shape[1]), **axes, settings=np.array(text))


def _savez(path: str | os.PathLike[str], **arrays: np.ndarray) -> None:
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def description(path: Path, arrays: dict[str, Variable]) -> tuple[Space, dict] | None:
    """The space and the settings that a file of our pairs carries; None for other files."""
    if "raffia" not in arrays:
        return None
    try:
        content = _content(arrays["raffia"])
        domain, settings = _domain(content), dict(content["settings"])
        return Channels(domain, int(content["channels"])) if "channels" in content else domain, settings
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RaffiaError(f"{path} is damaged: its array raffia is not a description ({error}).") from None


def domain_of_trajectories(arrays: dict[str, Variable]) -> Domain | None:
    """The domain that trajectories of ours live on; None in other files."""
    if not {"u", "t", "settings"} <= arrays.keys():
        return None
    try:
        return _domain(_content(arrays["settings"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # settings of somebody else


def _content(text: Variable) -> Any:
    if np.dtype(text.dtype).kind != "U":
        raise ValueError("it is no text")
    return json.loads(str(text.read()))


def _domain(content: dict[str, Any]) -> Domain:
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in content["domain"].items()
    }
    return Domain(**options)
