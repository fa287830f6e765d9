"""The trimmed maximum and mean of |values|: the largest samples of a large set are left out, so a few faulty ones have no effect."""

from torch import Tensor

TRUSTED = 50
"""One sample in this many may be faulty. In a smaller set all samples count."""


def largest(f: Tensor) -> float:
    """Return the largest |value| of samples (n, …), without the largest two per cent of the samples."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).amax(1))[-1])


def average(f: Tensor) -> float:
    """Return the mean |value| of samples (n, …), without the two per cent of samples with the largest means."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).mean(1)).mean())


def _sorted(sizes: Tensor) -> Tensor:
    return sizes.sort().values[: len(sizes) - len(sizes) // TRUSTED]
