"""Datasets of ours: NumPy's .npz files with arrays `a` and `y`, and `raffia`, a JSON text with the domain and the settings."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.formats import variables
from raffia.data.formats.variable import Variable
from raffia.errors import RaffiaError
from raffia.pairs import Dataset
from raffia.spaces import Domain
from raffia.storage import atomic


def write(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """Write a dataset; atomic."""
    if not isinstance(dataset.domain, Domain) or dataset.output is not None:
        raise RaffiaError(
            f"only datasets of functions on one Domain are written; got {dataset.domain} and output={dataset.output}. "
            "Write the arrays with np.savez, and their nodes beside them."
        )
    text = json.dumps({"domain": asdict(dataset.domain), "settings": dataset.settings})
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, a=dataset.a.numpy(force=True), y=dataset.y.numpy(force=True), raffia=np.array(text))


def domain_of(path: str | os.PathLike[str]) -> Domain | None:
    """The domain that a file of ours says its functions have; None for other files."""
    content = told(Path(path), variables(path))
    return content[0] if content else None


def told(path: Path, arrays: dict[str, Variable]) -> tuple[Domain, dict] | None:
    """The domain and the settings that a file of ours carries."""
    if "raffia" not in arrays or np.dtype(arrays["raffia"].dtype).kind != "U":
        return None
    try:
        content = json.loads(str(arrays["raffia"].read()))
        said: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content["domain"].items()}
        domain = Domain(**said)
        return domain, dict(content["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RaffiaError(f"{path} is damaged: its array raffia is not a description ({error}).") from None
