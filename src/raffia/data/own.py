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
from raffia.data.readers import Variable, variables
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


def domain_of(path: str | os.PathLike[str]) -> Space | None:
    """The domain that a file of ours says its functions have; None for other files."""
    content = description(Path(path), variables(path))
    return content[0] if content else None


def domain_of_trajectories(arrays: dict[str, Variable]) -> Domain | None:
    """The domain that trajectories of ours are said to live on; None in other files."""
    if not {"u", "t", "settings"} <= arrays.keys() or np.dtype(arrays["settings"].dtype).kind != "U":
        return None
    try:
        return _domain(json.loads(str(arrays["settings"].read())))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # settings of somebody else


def description(path: Path, arrays: dict[str, Variable]) -> tuple[Space, dict] | None:
    """The domain and the settings that a file of ours carries."""
    if "raffia" not in arrays or np.dtype(arrays["raffia"].dtype).kind != "U":
        return None
    try:
        content = json.loads(str(arrays["raffia"].read()))
        domain: Space = _domain(content)
        if "channels" in content:
            domain = Channels(domain, int(content["channels"]))
        return domain, dict(content["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RaffiaError(f"{path} is damaged: its array raffia is not a description ({error}).") from None


def _domain(content: dict[str, Any]) -> Domain:
    said: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content["domain"].items()}
    return Domain(**said)
