"""Gaussian measures N(0, C), evaluated on grids by their Karhunen–Loève expansion (eqn:grf_klexpansion)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures.base import Measure
from raffia.measures.noise import Rows, white_noise
from raffia.spaces import Boundary, Domain, Grid, LaplacianBasis, Mesh


def matern(eigenvalues: Tensor, tau: float | Tensor, regularity: float | Tensor, dim: int) -> Tensor:
    """The eigenvalues λ_k = τ^(2α−d) (κ_k + τ²)^(−α) of C = τ^(2α−d) (−Δ + τ²)^(−α)   (eqn:prior_covariance)."""
    tau, regularity = (torch.as_tensor(p, dtype=eigenvalues.dtype, device=eigenvalues.device) for p in (tau, regularity))
    return tau ** (2 * regularity - dim) * (eigenvalues + tau**2) ** -regularity


@dataclass(repr=False, eq=False)
class GaussianField(Measure):
    """A Gaussian random field N(0, C) with a Matérn-like covariance, the same functions on every grid.

    g = Σ_k ξ_k √λ_k φ_k with white noise ξ; λ_k = τ^(2α−d) (κ_k + τ²)^(−α), −Δφ_k = κ_k φ_k, without the constant mode.

    The same ξ is the same function on every grid. Modes that a grid cannot resolve are dropped, never aliased.

    Parameters
    ----------
    domain
        The torus or box.
    boundary
        The boundary condition of the eigenfunctions: "periodic", "neumann" or "dirichlet".
    tau
        τ, an inverse length scale.
    regularity
        α > d/2; draws have about α − d/2 derivatives.
    n_modes
        The number of eigenfunctions.

    Examples
    --------
    >>> from raffia import Domain, GaussianField
    >>> GaussianField(n_modes=64).sample(5, Domain(1).grid(128), seed=0).shape
    torch.Size([5, 128])
    """

    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))
    boundary: Boundary = "periodic"
    tau: float | Tensor = 7.0
    regularity: float | Tensor = 2.5
    n_modes: int = 1022

    @property
    def basis(self) -> LaplacianBasis:
        """The eigenfunctions φ_k, without the constant."""
        return LaplacianBasis(self.domain, self.boundary, self.n_modes, constant=False)

    @property
    def eigenvalues(self) -> Float[Tensor, "modes"]:
        """λ_k, the variances of the coefficients, nonincreasing."""
        return matern(self.basis.eigenvalues, self.tau, self.regularity, self.domain.dim)

    @property
    def variances(self) -> Float[Tensor, "modes"]:
        """λ_k; refused if they overflow float64."""
        eigenvalues = self.eigenvalues
        if not torch.isfinite(eigenvalues).all() or eigenvalues[0] <= 0:
            raise RaffiaError(
                f"tau={self.tau} and regularity={self.regularity} give variances outside float64. Pass smaller ones."
            )
        return eigenvalues

    def __call__(self, xi: Float[Tensor, "*batch modes"], grid: Grid | Mesh) -> Float[Tensor, "*batch_and_shape"]:
        """The fields with white coefficients ξ, on the grid or mesh."""
        return self.basis.synthesis(xi * self.eigenvalues.sqrt().to(xi), grid)

    def expansion(self, grid: Any) -> tuple[int, Callable[[Tensor], Tensor]]:
        """ξ_k for all modes that the grid can resolve (all modes on a mesh), and their sum."""
        if grid.space.region != self.domain:
            raise RaffiaError(
                f"the prior lives on {self.domain}, the inputs on {grid.space.region}: pass GaussianField(domain=…)."
            )
        places = self.basis.held_by(grid).nonzero()[:, 0] if grid.space.gridded else torch.arange(self.n_modes)
        if not len(places):
            raise RaffiaError(f"a grid of shape {grid.shape} resolves none of the {self.n_modes} modes. Use more points.")

        def made(xi: Float[Tensor, "n held"]) -> Float[Tensor, "n *shape"]:
            whole = xi.new_zeros(len(xi), self.n_modes)
            whole[:, places.to(xi.device)] = xi
            return self(whole, grid)

        return len(places), made

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """Draw fields from white coefficients of (seed, i)."""
        _ = self.variances
        return self(white_noise(rows, (self.n_modes,), seed, stream="input"), grid)
