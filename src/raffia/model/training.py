"""Training on arrays, in batches or on a cluster, depending on the type of the data."""

import os
from typing import Any

import numpy as np
from torch import Tensor

from raffia.data import open_source
from raffia.errors import RaffiaError
from raffia.model import cluster
from raffia.model.accumulator import Accumulator
from raffia.model.batches import fit_batches
from raffia.model.settings import Settings
from raffia.model.trained import Trained


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
    if options or cluster.applies(a, y):
        return cluster.fit_arrays(settings, a, y, **options)
    return Accumulator(settings, expected=len(a)).add(a, y).finish()
