"""Train a model on arrays, on files in batches, or on a Dask cluster, and check the arrays that users pass."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor

from raffia.data import Array, open_source
from raffia.errors import RaffiaError
from raffia.model import cluster
from raffia.model.accumulator import Accumulator
from raffia.model.batches import fit_batches
from raffia.model.settings import Settings
from raffia.model.trained import Trained

FLOATS = [np.float64, np.float32]


def inputs_of(model: Any, a: Any, first: bool = False) -> Any:
    """Return checked inputs. For vectors, scikit-learn checks the columns, against those of earlier calls unless this is the `first`."""
    if not model.feature_map.domain.tabular or isinstance(a, Tensor):
        return _values(a)
    try:
        return validate_data(model, a, reset=first, dtype=FLOATS, ensure_min_samples=1)
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def pairs_of(model: Any, a: Any, y: Any, first: bool = False) -> tuple[Any, Any]:
    """Return checked inputs and outputs."""
    inputs = inputs_of(model, a, first)
    if not model.feature_map.domain.tabular or isinstance(y, Tensor):
        return inputs, _values(y)
    try:
        return inputs, check_array(y, ensure_2d=False, allow_nd=True, dtype=FLOATS, input_name="y")
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def like(given: object, values: Tensor) -> Array:
    """Values as an array if `given` is an array, else on the device of the tensor `given`."""
    return values.to(given.device) if isinstance(given, Tensor) else values.numpy(force=True)


def _values(array: Any) -> Any:
    """Return the values of an xarray DataArray, and anything else unchanged."""
    return array.values if type(array).__module__.startswith("xarray") else array


def on_cluster(*arrays: object) -> bool:
    """Whether any of these is a Dask collection, or an xarray object that holds one."""
    held = (getattr(f, "data", f) if type(f).__module__.startswith("xarray") else f for f in arrays)
    return any(type(f).__module__.split(".")[0] == "dask" for f in held)


def train(settings: Settings, a: Any, y: Any = None, **options: Any) -> Trained:
    """Train on arrays; on a path, `Pairs` or batches, without y; on Dask arrays; or on what `a` opens on the cluster of a scheduler.

    `options` are those of `batches.fit_batches`, `cluster.fit_arrays` or `cluster.fit_file`.
    """
    if "scheduler" in options:
        return cluster.fit_file(settings, a, **options)
    if y is None and isinstance(a, (np.ndarray, Tensor, list)) and len(a) and not isinstance(a[0], tuple):
        raise RaffiaError(
            "fit requires y to be passed, but the target y is None: pass fit(a, y), or a source of batches alone."
        )
    if y is None:
        return fit_batches(settings, open_source(a) if isinstance(a, (str, os.PathLike)) else a, **options)
    if options or on_cluster(a, y):
        return cluster.fit_arrays(settings, a, y, **options)
    return Accumulator(settings, expected=len(a)).add(a, y).finish()
