"""Have chains met, and how many independent draws are they worth? Rank-normalised split R̂ and effective sample sizes, by ArviZ.

Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021) define both.
"""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from raffia.errors import RaffiaError

LEAST = 4


def split_rhat(draws: np.ndarray) -> Float[np.ndarray, "coordinates"]:
    """Return the rank-normalised split R̂ of each coordinate of draws of shape (chains, draws, coordinates).

    R̂ is near 1 where chains have met; 1.01 or 1.05 are common limits. It is infinite or huge where no chain moves and chains differ.
    It is NaN where all draws are equal, and for a single chain.
    """
    return _computed("rhat", draws)


def effective_sample_size(draws: np.ndarray) -> Float[np.ndarray, "coordinates"]:
    """Return the number of independent draws that would estimate the mean of each coordinate as well as these draws do."""
    return _computed("ess", draws)


def arviz_of() -> Any:
    """The module ArviZ, which announces its next version by a warning; refused where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
    except ImportError:
        raise RaffiaError("this needs ArviZ, which is not installed: pip install 'raffia[inverse]'.") from None
    return arviz


def _computed(name: str, draws: np.ndarray) -> np.ndarray:
    """One of ArviZ's statistics."""
    if draws.ndim != 3 or draws.shape[1] < LEAST or not np.isfinite(draws).all():
        raise RaffiaError(
            f"draws must be finite, of shape (chains, draws, coordinates) with {LEAST} draws or more; got shape {draws.shape}."
        )
    arviz = arviz_of()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of divisions by the variance of chains that do not move
        return np.asarray(getattr(arviz, name)(arviz.convert_to_dataset({"xi": draws}))["xi"].values, dtype=float)
