"""Fourier space random features on the circle (eqn:rf_fourier, eqn:filter)."""

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.activations import activate
from raffia.features.base import FeatureMap, Prepared
from raffia.features.hyperparameters import Choice, Range
from raffia.measures.gaussian import matern
from raffia.spaces import Domain, Grid

Number = float | Float[Tensor, ""]


def wavenumber_filter(r: Tensor, beta: Number) -> Tensor:
    """σ_χ(r) = max(0, min(2r, (r + ½)^(−β)))   (eqn:filter)."""
    return torch.minimum(2 * r, (r + 0.5) ** -torch.as_tensor(beta, dtype=r.dtype, device=r.device)).clamp(min=0)


@dataclass(repr=False, eq=False)
class FourierFeatures(FeatureMap):
    """φ(a; θ) = σ( amplitude · F⁻¹(χ · Fa · Fθ) + bias · ξ₀ ),  θ ~ N(0, τ^(2α−1) (−Δ + τ²)^(−α)),  χ(k) = σ_χ(2πδ|k|).

    A filtered random convolution followed by a pointwise function, that is, independent complex normal multipliers of standard
    deviation w_k. `profile` says what w_k is: "filter" is the paper's χ(k)·√λ_k; "matern" is (1 + (2πk/τ)²)^(−α/2), without filter;
    a vector gives one positive weight for each wavenumber k = 1, 2, …, and a search then learns them all. The defaults are the
    paper's for Burgers' equation, with the factor 1024 that its text does not print but its experiments have: ELU is not
    homogeneous, so it matters.

    `n_modes` counts sines and cosines, so wavenumbers go up to n_modes/2; those that the grid of `a` cannot hold are dropped,
    never aliased, so a grid of fewer than n_modes + 1 points sees a smoother feature. Features do not see the mean of a, since
    χ(0) = 0, so they learn nothing from constant functions. Good values: amplitude such that the argument of σ has a standard
    deviation near 1.5; tau and regularity such that θ is about as smooth as the inputs.
    """

    n_modes: int = 128
    tau: Number = 5.0
    regularity: Number = 2.0
    delta: Number = 0.0025
    beta: Number = 4.0
    amplitude: Number = 1024.0
    bias: Number = 0.0
    activation: str = "elu"
    profile: Literal["filter", "matern"] | Float[Tensor, "wavenumbers"] = "filter"
    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def theta_shape(self) -> tuple[int]:
        """ξ₀ of the random shift, then ξ of sin 2πx, cos 2πx, sin 4πx, … in the order of the Laplacian's eigenfunctions."""
        return (1 + self.n_modes,)

    def __call__(self, a: Float[Tensor, "n k"], theta: Float[Tensor, "m modes"]) -> Float[Tensor, "n m k"]:
        """Evaluate every feature on the grid of a."""
        return self.evaluate(a, self.prepare(theta, self.domain.grid_of(a)))

    def prepare(self, theta: Float[Tensor, "m modes"], grid: Grid) -> tuple[Complex[Tensor, "m _"]]:
        """bias·ξ₀, then amplitude · χ(k) · (Fθ)(k) for the wavenumbers 1, 2, … that the grid can hold."""
        self._check()
        points, extent = grid.shape[0], self.domain.extents[0]
        reach = min(self.n_modes // 2, (points - 1) // 2)
        if reach < 1:
            raise RaffiaError(
                f"FourierFeatures(n_modes={self.n_modes}) on a grid of {points} point(s) has no wavenumber left: "
                "it needs n_modes >= 2 and 3 points or more."
            )
        wave = 2 * math.pi / extent * torch.arange(1, reach + 1, dtype=theta.dtype, device=theta.device)
        weights = self.amplitude * self._profile(wave)
        sine, cosine = theta[:, 1 : 2 * reach : 2], theta[:, 2 : 2 * reach + 1 : 2]
        shift = (self.bias * theta[:, :1]).to(theta.dtype)
        return (torch.cat([torch.complex(shift, torch.zeros_like(shift)), weights * torch.complex(cosine, -sine)], dim=-1),)

    def evaluate(self, a: Float[Tensor, "n k"], prepared: Prepared) -> Float[Tensor, "n m k"]:
        """One inverse transform a pair."""
        (multiplier,) = prepared
        spectrum = torch.fft.rfft(a, norm="forward")[:, : multiplier.shape[1]].clone()
        spectrum[:, 0] = 1  # the slot of the mean carries the shift: φ does not see the mean of a, since χ(0) = 0
        waves = torch.fft.irfft(multiplier[:, None] * spectrum, n=a.shape[-1], norm="forward")
        return activate(self.activation, waves).transpose(0, 1)

    def _check(self) -> None:
        if (self.domain.dim, self.domain.periodic) != (1, True):
            raise RaffiaError(f"FourierFeatures needs Domain(1, periodic=True); got {self.domain}.")
        for name in ("tau", "delta", "beta"):
            if not bool(torch.as_tensor(getattr(self, name)).detach() > 0):
                raise RaffiaError(f"FourierFeatures({name}=…) must be positive; got {getattr(self, name)!r}.")

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The four numbers that matter, and the filter's where it is used; or every weight of a profile given as a vector."""
        shift: dict[str, Range | Choice] = {"bias": Range(1e-3, 30.0), "activation": Choice(("gelu", "tanh", "elu"))}
        if isinstance(self.profile, Tensor):
            return shift | {"profile": Range(1e-6, 1e3, count=len(self.profile))}
        filtered = self.profile == "filter"
        ranges: dict[str, Range | Choice] = {
            "amplitude": Range(1e-2, 1e6) if filtered else Range(0.05, 500.0),
            "tau": Range(0.5, 200.0),
            "regularity": Range(0.6, 12.0),
            "profile": Choice(("matern", "filter")),
        }
        return shift | ranges | ({"delta": Range(1e-4, 0.1)} if filtered else {})

    def _profile(self, wave: Float[Tensor, "k"]) -> Float[Tensor, "k"]:
        """The standard deviation w_k of the multipliers, for amplitude 1."""
        if isinstance(self.profile, Tensor):
            if len(self.profile) < len(wave):
                raise RaffiaError(f"profile must have n_modes/2 = {self.n_modes // 2} weights; got {len(self.profile)}.")
            return self.profile[: len(wave)].to(wave)
        if self.profile == "matern":
            tau, regularity = (torch.as_tensor(p, dtype=wave.dtype, device=wave.device) for p in (self.tau, self.regularity))
            return (1 + (wave / tau) ** 2) ** (-regularity / 2)
        if self.profile != "filter":
            raise RaffiaError(f"profile must be 'filter', 'matern' or a vector of weights; got {self.profile!r}.")
        variance = matern(wave**2, self.tau, self.regularity, dim=1) / (2 * self.domain.extents[0])
        return wavenumber_filter(self.delta * wave, self.beta) * variance.sqrt()
