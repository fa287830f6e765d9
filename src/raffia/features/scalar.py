"""Scalar random features of an input function's coefficients: random Fourier features, with functions as coefficients of the model."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared
from raffia.features.hyperparameters import Choice, Range
from raffia.spaces import Boundary, Domain, Grid, LaplacianBasis

Number = float | Float[Tensor, ""]
AFFINE_SHARE = 0.25


@dataclass(repr=False, eq=False)
class ScalarFeatures(FeatureMap):
    """φ(a; θ) = √2 cos(Σ_k ω_k z_k + 2πU), with z_k = ⟨a, e_k⟩ and ω_k = ξ_k / (ℓ_k r): k(a, a') is stationary in the coefficients z.

    The values are numbers, so the coefficients of the model are functions, and nothing is assumed of the outputs: they may live on
    another grid than the inputs, or be numbers. e_k are the first `n_modes` eigenfunctions of the Laplacian, normalised to mean
    square 1. The length scales are ℓ_k = lengthscale · (1 + κ_k/τ²)^(regularity/2), or a vector `lengthscale`, one for each mode,
    which a search then learns. `law` is that of ω: "gaussian" (r = 1, the squared exponential kernel), "student" with `dof` degrees of
    freedom (a Matérn kernel of smoothness dof/2), "cauchy" (dof 1, the exponential kernel).

    A quarter of the features are affine instead, affine · (Σ_k g_k z_k/ℓ_k + g₀) with normal g, unless `affine` is None: with
    n_modes + 1 of these among them, affine operators of the modes are learnt exactly, and the others learn what is left.
    """

    n_modes: int = 64
    lengthscale: Number | Float[Tensor, "modes"] = 1.0
    tau: Number = 10.0
    regularity: Number = 1.0
    affine: Number | None = 1.0
    law: Literal["gaussian", "student", "cauchy"] = "gaussian"
    dof: int = 5
    boundary: Boundary | None = None
    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def theta_shape(self) -> tuple[int]:
        """Affine or not, the phase (or constant), normals that make r, then one for each mode."""
        return (2 + self._radial + self.n_modes,)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """Length scales, their growth with the wavenumber, the law, and the size of the affine part where there is one."""
        ranges: dict[str, Range | Choice] = {"law": Choice(("gaussian", "student", "cauchy"))}
        if self.affine is not None:
            ranges["affine"] = Range(1e-3, 1e3)
        if isinstance(self.lengthscale, Tensor):
            return ranges | {"lengthscale": Range(1e-4, 1e6, count=len(self.lengthscale))}
        return ranges | {"lengthscale": Range(1e-3, 1e4), "tau": Range(0.5, 100.0), "regularity": Range(0.05, 6.0)}

    def __call__(self, a: Float[Tensor, "n *grid"], theta: Float[Tensor, "m size"]) -> Float[Tensor, "n m"]:
        """Evaluate every feature."""
        return self.evaluate(a, self.prepare(theta, self.domain.grid_of(a)))

    def prepare(self, theta: Float[Tensor, "m size"], grid: Grid) -> tuple[Tensor, Tensor, Tensor]:
        """Which are affine, phases or constants, and frequencies ξ_k/(ℓ_k r) or slopes g_k/ℓ_k."""
        if self.law not in ("gaussian", "student", "cauchy"):
            raise RaffiaError(f"ScalarFeatures(law=…) must be 'gaussian', 'student' or 'cauchy'; got {self.law!r}.")
        straight = theta[:, :1] < (-math.inf if self.affine is None else _AFFINE_QUANTILE)
        radial, xi = theta[:, 2 : 2 + self._radial], theta[:, 2 + self._radial :]
        r = radial.square().mean(1, keepdim=True).sqrt() if self._radial else torch.ones_like(theta[:, :1])
        phase = torch.where(straight, theta[:, 1:2], 2 * math.pi * torch.special.ndtr(theta[:, 1:2]))
        frequency = xi / self._lengthscales(theta) / torch.where(straight, torch.ones_like(r), r)
        return straight[:, 0], phase[:, 0], frequency

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m"]:
        """One product of matrices, and a cosine."""
        straight, phase, frequency = prepared
        argument = self.coefficients(a) @ frequency.mT + phase
        waves = math.sqrt(2) * torch.cos(argument)
        return waves if self.affine is None else torch.where(straight, self.affine * argument, waves)

    def combination(
        self, theta: Float[Tensor, "m size"], coef: Float[Tensor, "m *columns"], grid: Grid
    ) -> Callable[[Tensor], Tensor]:
        """All features at once: they are numbers, and few."""
        prepared = self.prepare(theta, grid)
        return lambda a: self.evaluate(a, prepared) @ coef

    def coefficients(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n modes"]:
        """z_k = ⟨a, e_k⟩ with e_k of mean square 1, on whatever grid a is given."""
        grid = self.domain.grid_of(a)
        return self._basis.analysis(a, grid) / math.sqrt(math.prod(self.domain.extents))

    @property
    def _basis(self) -> LaplacianBasis:
        boundary = self.boundary or ("periodic" if self.domain.periodic else "neumann")
        return LaplacianBasis(self.domain, boundary, self.n_modes)

    @property
    def _radial(self) -> int:
        return {"gaussian": 0, "student": self.dof, "cauchy": 1}.get(self.law, 0)

    def _lengthscales(self, like: Tensor) -> Float[Tensor, "modes"]:
        if isinstance(self.lengthscale, Tensor) and self.lengthscale.ndim:
            if len(self.lengthscale) != self.n_modes:
                raise RaffiaError(
                    f"lengthscale must be a number or n_modes = {self.n_modes} numbers; got {len(self.lengthscale)}."
                )
            return self.lengthscale.to(like)
        tau, regularity = (torch.as_tensor(p, dtype=like.dtype, device=like.device) for p in (self.tau, self.regularity))
        return self.lengthscale * (1 + self._basis.eigenvalues.to(like) / tau**2) ** (regularity / 2)


_AFFINE_QUANTILE = float(torch.special.ndtri(torch.tensor(AFFINE_SHARE, dtype=torch.float64)))
