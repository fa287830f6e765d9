"""Sizes of samples without outliers: what a few faulty samples of a large set must not decide."""

from torch import Tensor

TRUSTED = 50
"""Of so many samples one may be faulty; in a smaller set each counts, as one of five samples may be of a kind of its own."""


def largest(f: Tensor) -> float:
    """Return the largest |value| of samples (n, …), without the fiftieth of them that have the largest."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).amax(1))[-1])


def average(f: Tensor) -> float:
    """Return the mean |value| of samples (n, …), without the fiftieth of them that have the largest means."""
    return float(_sorted(f.detach().abs().reshape(len(f), -1).mean(1)).mean())


def _sorted(sizes: Tensor) -> Tensor:
    return sizes.sort().values[: len(sizes) - len(sizes) // TRUSTED]
