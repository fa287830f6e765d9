"""Error bars: the posterior of the linear-Gaussian model, and conformal bands with a coverage guarantee.

Minimising ‖y − Aα/m‖² + (λ/m)‖α‖² is finding the mean of the posterior of α for white noise of variance s² in embedded
coordinates and the prior α ~ N(0, s² m/λ). Its covariance is s² m (G + λ)⁻¹, so at a new input

    Var F(x) = s² φ(x)ᵀ (G + λ)⁻¹ φ(x) / m.

Errors of one function at neighbouring points are not independent: the noise has a pointwise variance σ², and a function counts
as K_eff independent numbers, so s² = σ² |D| / K_eff. Both are read off the errors of leaving out one function at a time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.ridge_path import LeftOut
from raffia.spaces import Nodes


@dataclass(frozen=True)
class Noise:
    """σ², the pointwise variance of what the model cannot say, and K_eff, as how many independent numbers a function counts."""

    variance: float
    effective_points: float

    def scale(self, grid: Nodes) -> float:
        """s² = σ² |D| / K_eff."""
        return self.variance * grid.volume / self.effective_points


def noise_of(left_out: LeftOut, grid: Nodes) -> Noise:
    """From e_i: K_eff is the participation ratio of their covariance; σ² makes mean ‖e_i‖² equal to its expectation."""
    e = left_out.functions
    spectrum = torch.linalg.svdvals(e).square()
    effective = float(spectrum.sum() ** 2 / spectrum.square().sum()) if spectrum.sum() > 0 else 1.0
    energy = float(e.square().sum(1).mean())
    leverage = float(left_out.leverages.mean())
    return Noise(energy / (grid.volume * (1 + leverage / effective)), effective)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The Gaussian law of the coefficients given the data: mean α and covariance s² m (G + λ)⁻¹, through G + λ = L Lᵀ."""

    mean: Float[Tensor, "m"]
    factor: Float[Tensor, "m m"]
    scale: float

    def variance(self, phi: Float[Tensor, "m points"]) -> Float[Tensor, "points"]:
        """Var F at points where the features have the values φ."""
        return self.scale / len(phi) * torch.linalg.solve_triangular(self.factor, phi, upper=False).square().sum(0)

    def sample(self, count: int, seed: int) -> Float[Tensor, "count m"]:
        """Draws of α."""
        generator = torch.Generator().manual_seed(seed)
        z = torch.randn(len(self.mean), count, dtype=self.mean.dtype, generator=generator).to(self.mean.device)
        step = torch.linalg.solve_triangular(self.factor.mT, z, upper=True)
        return self.mean + math.sqrt(self.scale * len(self.mean)) * step.mT


Array = np.ndarray | Tensor
Centre = Callable[[Array], tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class ConformalBand:
    """F(a) ± width · std(a): contains the whole function y with probability at least `level`, whatever the law of the data.

    The guarantee is that of split conformal prediction: over the draw of the calibration set and of one new pair from the same
    law, P(y inside everywhere) ≥ level, and ≤ level + 1/(n + 1) when scores have no ties.
    """

    centre: Centre
    width: float
    level: float

    def __call__(self, a: Array) -> tuple[Array, Array]:
        """The lower and the upper edge of the band; arrays for arrays."""
        mean, std = self.centre(a)
        edges = mean - self.width * std, mean + self.width * std
        return (edges[0].numpy(force=True), edges[1].numpy(force=True)) if isinstance(a, np.ndarray) else edges

    def covers(self, a: Array, y: Array) -> Array:
        """For each sample, whether y is inside the band at every point."""
        inside = _scores(self.centre, a, y) <= self.width
        return inside.numpy(force=True) if isinstance(a, np.ndarray) else inside


def conformal_band(centre: Centre, a: Array, y: Array, level: float) -> ConformalBand:
    """Calibrate on pairs that were not used for training: the ⌈(n + 1)·level⌉-th smallest of max_x |y − F|/std is the width."""
    if not 0 < level < 1:
        raise RaffiaError(f"level must be between 0 and 1; got {level!r}.")
    rank = math.ceil((len(a) + 1) * level)
    if rank > len(a):
        need = next(n for n in count(1) if math.ceil((n + 1) * level) <= n)
        raise RaffiaError(
            f"level={level:g} needs at least {need} calibration pairs; got {len(a)}. Pass more, or a lower level."
        )
    return ConformalBand(centre, float(_scores(centre, a, y).sort().values[rank - 1]), level)


def _scores(centre: Centre, a: Array, y: Array) -> Float[Tensor, "n"]:
    mean, std = centre(a)
    if tuple(y.shape) != tuple(mean.shape):
        raise RaffiaError(f"y must have the shape of the predictions, {tuple(mean.shape)}; got {tuple(y.shape)}.")
    return ((torch.as_tensor(y).to(mean) - mean).abs() / std).reshape(len(y), -1).amax(-1)
