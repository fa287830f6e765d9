"""Gaussian measures N(0, C), evaluated on grids by their Karhunen–Loève expansion (eqn:grf_klexpansion)."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.measures.base import Measure
from raffia.measures.noise import Rows, white_noise
from raffia.spaces import Boundary, Domain, Grid, LaplacianBasis


def matern(eigenvalues: Tensor, tau: float | Tensor, regularity: float | Tensor, dim: int) -> Tensor:
    """The eigenvalues λ_k = τ^(2α−d) (κ_k + τ²)^(−α) of C = τ^(2α−d) (−Δ + τ²)^(−α)   (eqn:prior_covariance)."""
    tau, regularity = (torch.as_tensor(p, dtype=eigenvalues.dtype, device=eigenvalues.device) for p in (tau, regularity))
    return tau ** (2 * regularity - dim) * (eigenvalues + tau**2) ** -regularity


@dataclass(repr=False, eq=False)
class GaussianField(Measure):
    """g = Σ_k ξ_k √λ_k φ_k with ξ white and mean zero over the domain; λ_k = τ^(2α−d) (κ_k + τ²)^(−α), −Δφ_k = κ_k φ_k.

    `tau` is an inverse length scale, `regularity` is α > d/2: draws have about α − d/2 derivatives. The same ξ is the same
    function on every grid; modes that a grid cannot hold are dropped, never aliased.
    """

    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))
    boundary: Boundary = "periodic"
    tau: float | Tensor = 7.0
    regularity: float | Tensor = 2.5
    n_modes: int = 1022

    @property
    def basis(self) -> LaplacianBasis:
        """The eigenfunctions φ_k, the constant left out."""
        return LaplacianBasis(self.domain, self.boundary, self.n_modes, constant=False)

    @property
    def eigenvalues(self) -> Float[Tensor, "modes"]:
        """λ_k, the variances of the coefficients, nonincreasing."""
        return matern(self.basis.eigenvalues, self.tau, self.regularity, self.domain.dim)

    def __call__(self, xi: Float[Tensor, "*batch modes"], grid: Grid) -> Float[Tensor, "*batch_and_shape"]:
        """The fields with white coefficients ξ, on the grid."""
        return self.basis.synthesis(xi * self.eigenvalues.sqrt().to(xi), grid)

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """Draw fields from white coefficients of (seed, i)."""
        return self(white_noise(rows, (self.n_modes,), seed, stream="input"), grid)
