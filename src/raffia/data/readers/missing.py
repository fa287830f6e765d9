"""Values as numbers: packed integers are unpacked, fill values become NaN, and samples with NaN are refused."""

from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

FILLS = ("_FillValue", "missing_value", "FillValue", "fill_value")


def decode(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Fill values to NaN, scale and offset applied, integers to floats: float32 stays, all else becomes float64."""
    gaps = np.zeros(values.shape, dtype=bool)
    for fill in (_number(variable.attributes.get(key)) for key in FILLS):
        if fill is not None:
            gaps |= values == (np.array(fill).astype(values.dtype, casting="unsafe") if values.dtype.kind == "f" else fill)
    floats = values.astype(np.float32 if values.dtype.kind == "f" and values.dtype.itemsize <= 4 else np.float64)
    scale, offset = (_number(variable.attributes.get(key)) for key in ("scale_factor", "add_offset"))
    if scale is not None or offset is not None:
        floats = floats.astype(np.float64) * (1 if scale is None else scale) + (0 if offset is None else offset)
    floats[gaps] = np.nan
    return floats


def check_whole(path: Path, name: str, values: np.ndarray, first: int = 0, each: int = 0) -> None:
    """Refuse samples with missing or infinite values; `first` is the number of the first sample, a trajectory has `each` of them."""
    bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(1))
    if len(bad):
        sample = first + int(bad[0])
        where = f" (trajectory {sample // each}, pair {sample % each} of it, counted from 0)" if each else ""
        what = "trajectories" if each else "samples"
        raise RaffiaError(
            f"{path}: {name} must be finite; {len(bad)} of the {len(values)} samples read have missing values (NaN, infinite or "
            f"fill values), the first is sample {sample}{where}. Leave those {what} out or fill their gaps first."
        )


def _number(value: Any) -> int | float | None:
    return value if type(value) in (int, float) else None  # a bool is no number here
