"""The energy spectrum of functions on a grid."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.spaces import Domain


def spectrum(f: Float[Tensor, "n ..."], domain: Domain) -> Float[Tensor, "n waves"]:
    """The energy E(k) in waves with k = 0, 1, … periods along the longest side, with Σ_k E(k) = mean f².

    Functions are reflected at the ends of non-periodic axes, so that they have no jump there. k is rounded to an integer.
    """
    axes = range(1, 1 + domain.dim)
    for axis, kind in zip(axes, domain.kinds, strict=True):
        f = f if kind.periodic else torch.cat([f, f.flip(axis)], axis)
    power = torch.fft.fftn(f.double(), dim=tuple(axes)).abs().square() / math.prod(f.shape[1:]) ** 2
    total = torch.zeros(f.shape[1:], dtype=torch.float64)
    for place, (size, kind, length) in enumerate(zip(f.shape[1:], domain.kinds, domain.extents, strict=True)):
        waves = torch.fft.fftfreq(size, 1 / size, dtype=torch.float64) * (1.0 if kind.periodic else 0.5)
        waves = waves * domain.longest / length
        total = total + waves.square().reshape(*[1] * place, -1, *[1] * (domain.dim - 1 - place))
    number = total.sqrt().round().long().flatten()
    found = torch.zeros(len(f), int(number.max()) + 1, dtype=torch.float64)
    return found.index_add_(1, number, power.flatten(1))
