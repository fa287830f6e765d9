"""White noise from a counter-based generator: entry (j, q, k) depends on (seed, stream, j, q, k) and nothing else.

Any slice can be drawn independently, longer draws extend shorter ones, and values are the same on every device. They are computed in
float64 on the CPU by Philox4x32-10 (Salmon et al., 2011) and the inverse of the normal distribution function.
"""

import math
import zlib
from collections.abc import Sequence
from numbers import Integral

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import ndtri
from torch import Tensor

from raffia.errors import RaffiaError

Rows = int | range


def white_noise(rows: Rows, shape: Sequence[int], seed: int, stream: str) -> Float[Tensor, "rows *shape"]:
    """Draw independent N(0, 1) numbers that depend on the seed and their indices only.

    Longer draws extend shorter ones, in rows and along the last axis.

    Parameters
    ----------
    rows
        The number of rows, or a range of their indices.
    shape
        The shape of a row.
    seed
        The seed.
    stream
        A name. Different names give independent numbers for the same seed.

    Returns
    -------
    Tensor
        Float64 numbers of shape (rows, *shape).

    Examples
    --------
    >>> import torch
    >>> from raffia.measures import white_noise
    >>> bool((white_noise(5, (3,), 0, "input")[:2] == white_noise(2, (3,), 0, "input")).all())
    True
    """
    uniform = _uniform(rows, shape, seed, stream)
    return torch.from_numpy(ndtri(uniform, out=uniform))


def uniform_noise(rows: Rows, shape: Sequence[int], seed: int, stream: str) -> Float[Tensor, "rows *shape"]:
    """Draw independent numbers, uniform on the open interval (0, 1), that depend on the seed and their indices only.

    Parameters
    ----------
    rows, shape, seed, stream
        As in `white_noise`.

    Returns
    -------
    Tensor
        Float64 numbers of shape (rows, *shape).

    Examples
    --------
    >>> from raffia.measures import uniform_noise
    >>> uniform_noise(5, (3,), 0, "input").shape
    torch.Size([5, 3])
    """
    return torch.from_numpy(_uniform(rows, shape, seed, stream))


def as_rows(rows: object, name: str = "rows") -> range:
    """A count or a range of consecutive row indices, as a range. `name` is the argument in messages."""
    if isinstance(rows, bool) or not isinstance(rows, (Integral, range)):
        raise RaffiaError(f"{name} must be a positive count or a range of consecutive numbers; got {rows!r}.")
    found = rows if isinstance(rows, range) else range(int(rows))
    if found.step != 1 or found.start < 0 or len(found) == 0:
        raise RaffiaError(f"{name} must be a positive count or a nonempty range of consecutive numbers from 0; got {rows}.")
    return found


def _uniform(rows: Rows, shape: Sequence[int], seed: int, stream: str) -> np.ndarray:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise RaffiaError(f"a seed must be an integer from 0 to 2**32 − 1; got {seed!r}.")
    which = as_rows(rows)
    *channels, columns = shape or (1,)
    blocks = (columns + 1) // 2  # one evaluation gives two 64-bit integers
    above, key = np.uint64(math.prod(channels)), (int(seed), zlib.crc32(stream.encode()))
    drawn = np.empty((len(which) * math.prod(channels) * blocks, 2))
    for start in range(0, len(drawn), AT_ONCE):
        part = drawn[start : start + AT_ONCE]
        rest, block = np.divmod(np.arange(start, start + len(part), dtype=np.uint64), np.uint64(blocks))
        row, channel = np.divmod(rest, above)
        row += np.uint64(which.start)
        w0, w1, w2, w3 = philox4x32((block, channel, row & _LOW, row >> _32), key)
        for column, bits in enumerate(((w0 << _32) | w1, (w2 << _32) | w3)):
            part[:, column] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.ascontiguousarray(drawn.reshape(len(which), -1, 2 * blocks)[..., :columns]).reshape(len(which), *shape)


AT_ONCE = 2**14
"""Counters that are processed together, so that intermediate values stay in the cache."""
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox4x32(counter: Sequence[np.ndarray], key: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Philox4x32-10: four 32-bit words of randomness for each four-word counter, held in uint64 arrays."""
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ np.uint64(k0), p1 & _LOW, (p0 >> _32) ^ c3 ^ np.uint64(k1), p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3
