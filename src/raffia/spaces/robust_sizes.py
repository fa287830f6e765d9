"""Sizes of samples, computed without the largest, so that a few faulty samples of a large set do not decide them."""

from torch import Tensor

TRUSTED = 50
"""One sample of so many may be faulty and is left out. In a smaller set every sample counts."""


def largest(f: Tensor) -> float:
    """Return the largest |value| of samples (n, …), without the fiftieth of them that have the largest."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).amax(1))[-1])


def average(f: Tensor) -> float:
    """Return the mean |value| of samples (n, …), without the fiftieth of them that have the largest means."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).mean(1)).mean())


def _sorted(sizes: Tensor) -> Tensor:
    return sizes.sort().values[: len(sizes) - len(sizes) // TRUSTED]
