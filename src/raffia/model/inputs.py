"""Vectors as scikit-learn takes them: anything like an array (n, size), of whole numbers too, with names of columns."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor

from raffia.errors import RaffiaError

FLOATS = [np.float64, np.float32]


def inputs_of(model: Any, a: Any, first: bool = False) -> Any:
    """Inputs of a model; of vectors, scikit-learn checks that they have the columns of the `first`."""
    if not model.feature_map.domain.tabular or isinstance(a, Tensor):
        return _values(a)
    try:
        return validate_data(model, a, reset=first, dtype=FLOATS, ensure_min_samples=1)
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def pairs_of(model: Any, a: Any, y: Any, first: bool = False) -> tuple[Any, Any]:
    """Inputs and outputs of a model."""
    inputs = inputs_of(model, a, first)
    if not model.feature_map.domain.tabular or isinstance(y, Tensor):
        return inputs, _values(y)
    try:
        return inputs, check_array(y, ensure_2d=False, allow_nd=True, dtype=FLOATS, input_name="y")
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def _values(array: Any) -> Any:
    """What an xarray DataArray holds; anything else as it is."""
    return array.values if type(array).__module__.startswith("xarray") else array
