"""Have chains met, and how many independent draws are they worth? Rank-normalised split R̂ and effective sample sizes.

Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021): R̂ is the larger of that of ranks and of folded ranks, the effective sample size is
that of the bulk, with the autocorrelations of all chains summed as long as pairs of them are positive, and do not rise (Geyer, 1992).
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from scipy.stats import rankdata

from raffia.errors import RaffiaError

Draws = Float[np.ndarray, "_ _"]
LEAST = 4


def split_rhat(draws: np.ndarray) -> Float[np.ndarray, "coordinates"]:
    """Return the rank-normalised split R̂ of each coordinate of draws of shape (chains, draws, coordinates).

    R̂ is near 1 where chains have met; 1.01 or 1.05 are common limits. It is infinite where no chain moves and chains differ. It is
    NaN where all draws are equal.
    """
    check(draws)
    return np.array([_rhat(one) for one in np.moveaxis(draws, -1, 0)])


def effective_sample_size(draws: np.ndarray) -> Float[np.ndarray, "coordinates"]:
    """Return the number of independent draws that would estimate the mean of each coordinate as well; NaN where all draws are equal."""
    check(draws)
    return np.array([_size(_ranked(_split(one))) for one in np.moveaxis(draws, -1, 0)])


def check(draws: np.ndarray) -> None:
    """Refuse draws that are not finite, or fewer than four of each chain."""
    if draws.ndim != 3 or draws.shape[1] < LEAST or not np.isfinite(draws).all():
        raise RaffiaError(
            f"draws must be finite, of shape (chains, draws, coordinates) with {LEAST} draws or more; got shape {draws.shape}."
        )


def _rhat(draws: Draws) -> float:
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_plain(_ranked(halves)), _plain(_ranked(folded)))


def _split(draws: Draws) -> Draws:
    """Each chain as two: its first and its last half."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _ranked(draws: Draws) -> Draws:
    """Normal scores of the ranks among all draws."""
    ranks = rankdata(draws, method="average").reshape(draws.shape)
    return ndtri((ranks - 0.375) / (draws.size + 0.25))


def _plain(draws: Draws) -> float:
    """√(variance of all draws / mean variance within chains)."""
    within, total = _variances(draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt(total / within))


def _variances(draws: Draws) -> tuple[np.float64, np.float64]:
    """The mean variance within chains, and the variance of all draws as Gelman and Rubin estimate it."""
    length = draws.shape[1]
    still = draws - draws[:, :1]  # exactly zero where a chain does not move
    within = still.var(1, ddof=1).mean()
    between = draws.mean(1).var(ddof=1) if np.ptp(draws) else 0.0
    return within, between + (length - 1) / length * within


def _size(draws: Draws) -> float:
    within, total = _variances(draws)
    if total == 0:
        return np.nan
    length = draws.shape[1]
    correlations = 1 - (within - _autocovariances(draws).mean(0)) / total
    correlations[0] = 1.0
    pairs = correlations[: (length - 1) // 2 * 2].reshape(-1, 2).sum(1)
    negative = np.flatnonzero(pairs < 0)
    last = negative[0] if len(negative) else len(pairs) - 1
    time = 2 * np.minimum.accumulate(pairs[:last]).sum() - 1 + max(0.0, correlations[2 * last])
    time = max(time, 1 / np.log10(draws.size))
    return float(draws.size / time)


def _autocovariances(draws: Draws) -> Draws:
    """Of each chain, at every lag, by transforms of twice its length."""
    length, still = draws.shape[1], draws - draws[:, :1]
    spectrum = np.fft.rfft(still - still.mean(1, keepdims=True), n=2 * length)
    return np.fft.irfft(np.abs(spectrum) ** 2, n=2 * length)[:, :length] / length
