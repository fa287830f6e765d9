# ruff: noqa: F405 (names come from raffia.api)
"""Operator learning with function-valued random features.

The names below are loaded when they are first used, so that `import raffia` takes no time. More features, problems, solvers,
constraints, searches, pictures and error measures are in the rooms `raffia.features`, `.problems`, `.solvers`, `.constraints`,
`.inverse`, `.tuning`, `.plotting` and `.metrics`. `docs/api.md` lists all of them.
"""

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raffia.api import *  # noqa: F403

__version__ = "0.1.0"

__all__ = [
    "Burgers",
    "Channels",
    "Darcy",
    "Dataset",
    "Domain",
    "FeatureMap",
    "FourierFeatures",
    "GaussianField",
    "Grid",
    "LocalFeatures",
    "Mesh",
    "PredictorCorrectorFeatures",
    "RaffiaError",
    "RandomFeatureModel",
    "ScalarFeatures",
    "Surrogate",
    "Vectors",
    "fit",
    "load",
    "metrics",
    "read",
    "resample",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if find_spec(f"raffia.{name}"):
        return import_module(f"raffia.{name}")
    if name in __all__:
        return getattr(import_module("raffia.api"), name)
    for room in ("features", "problems", "solvers", "measures"):  # users' scripts import names of these from raffia
        if hasattr(module := import_module(f"raffia.{room}"), name):
            warnings.warn(f"raffia.{name} is now raffia.{room}.{name}.", DeprecationWarning, stacklevel=2)
            return getattr(module, name)
    raise AttributeError(f"raffia has no {name!r}. docs/api.md lists the public names, and the rooms that hold others.")


def __dir__() -> list[str]:
    return __all__
