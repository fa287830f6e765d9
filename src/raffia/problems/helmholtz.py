"""The Helmholtz equation on a square: a wave speed ↦ the wave that a source on one side excites."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from scipy.sparse.linalg import splu
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import GaussianField, Measure, Pushforward
from raffia.problems.base import Problem, check_tensor
from raffia.problems.elliptic import check_coefficient, check_rectangle, warn_if_unresolved
from raffia.problems.parameters import AboveOne, Count, FinePoints, Positive, check_parameters
from raffia.spaces import Domain

LOOKED_AT = 2  # samples of which the error is estimated


def window(x: Tensor, h: float) -> Tensor:
    """The indicator function of [0.35, 0.65], averaged over the cells [x − h/2, x + h/2] of a grid."""
    return ((torch.clamp(x + h / 2, max=0.65) - torch.clamp(x - h / 2, min=0.35)) / h).clamp(0, 1)


@dataclass(repr=False, eq=False)
class Helmholtz(Problem):
    """Waves −Δu − (ω/c)² u = 0 on a square, with the map from the wave speed c to the wave u.

    This is the problem of de Hoop, Huang, Qian & Stuart (2022). ∂u/∂n = g on the top side y = 1 and 0 on the others. The
    speed is c = 20 + tanh q with q ~ N(0, (−Δ + τ²)^(−α)). Arrays are indexed [x, y]. (ω/c)² lies among the eigenvalues of
    −Δ, so small errors of a wavelength are large errors of u. The authors' program has bilinear finite elements on 101²
    points, which are 60 to 90 % off: `Helmholtz(scheme="bilinear", fine_points=101)` has that map.

    Parameters
    ----------
    frequency
        ω.
    source
        g, a function of x; None is the indicator function of 0.35 ≤ x ≤ 0.65.
    mean_speed
        The mean of c.
    tau, regularity, n_modes
        τ, α and the number of modes of q.
    fine_points
        The least number of points along an axis on which the equation is solved.
    domain
        The square.
    scheme
        "compact" has finite differences of fourth order, solved directly.

    Examples
    --------
    >>> from raffia.problems import Helmholtz
    >>> c, u = Helmholtz(frequency=100.0, fine_points=33).dataset(2, points=17, seed=0)
    >>> u.shape
    torch.Size([2, 17, 17])
    """

    frequency: Positive = 1000.0
    source: Callable[[Tensor], Tensor] | None = None
    mean_speed: AboveOne = 20.0
    tau: Positive = 3.0
    regularity: float = 2.0
    n_modes: Count = 100
    fine_points: FinePoints = 201
    domain: Domain = field(default_factory=lambda: Domain(2, periodic=False))
    scheme: Literal["compact", "bilinear"] = "compact"

    @property
    def input_measure(self) -> Measure:
        """ν, the distribution of mean_speed + tanh(q)."""
        law = GaussianField(self.domain, "neumann", self.tau, self.regularity, self.n_modes)

        def speeds(g: Tensor) -> Tensor:
            scale = self.tau ** (1 - self.regularity)  # GaussianField has the factor τ^(2α−2) in its covariance
            return self.mean_speed + torch.tanh(scale * g)

        return Pushforward(law, speeds)

    def check_together(self) -> None:
        """A rectangle."""
        super().check_together()
        check_rectangle("Helmholtz", self.domain)

    def solve(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n *grid"]:
        """u on the grid of the wave speed a."""
        check_parameters(self)
        check_tensor(a)
        check_coefficient(a, "wave speeds")
        u = self._waves(a.double())
        if self.scheme == "compact":
            few = a[:LOOKED_AT].double()
            warn_if_unresolved("Helmholtz", u[:LOOKED_AT], lambda step: self._waves(few[:, ::step, ::step]), orders=(4, 4))
        return u.to(a)

    def _waves(self, speeds: Float[Tensor, "n r1 r2"]) -> Float[Tensor, "n r1 r2"]:
        return torch.stack([self._wave(c) for c in speeds])

    def _wave(self, c: Float[Tensor, "r1 r2"]) -> Float[Tensor, "r1 r2"]:
        """(δ²⊗B + B⊗δ² + (B⊗B) k²) u = −(2/h)(1 − (kh)²/12) g on the top row, with B = 1 + h²δ²/12 and reflecting ends.

        k² is that wavenumber for which the error of the scheme, averaged over directions, vanishes: (ω/c)² (1 − (kh)⁴/384). Bilinear
        elements have B = 1 + h²δ²/6, ω/c itself, its square at the middle of two nodes, and no factor of g.
        """
        grid = self.domain.grid_of(c)
        compact = self.scheme == "compact"
        axes = [_along(r, h, 12 if compact else 6) for r, h in zip(grid.shape, grid.spacings, strict=True)]
        (second_x, mean_x), (second_y, mean_y) = axes
        h1, h2 = grid.spacings
        squared = (self.frequency / c.cpu()).square()
        flux = window(grid.axes()[0], h1) if self.source is None else self.source(grid.axes()[0])
        right = torch.zeros(grid.shape, dtype=torch.float64)
        right[:, -1] = -2 / h2 * (1 - compact * squared[:, -1] * h2**2 / 12) * flux
        k2 = sparse.diags((squared * (1 - compact * squared.square() * (h1**4 + h2**4) / 2 / 384)).numpy().ravel())
        mass = sparse.kron(mean_x, mean_y)
        matrix = sparse.kron(second_x, mean_y) + sparse.kron(mean_x, second_y)
        matrix = matrix + (mass @ k2 if compact else (mass @ k2 + k2 @ mass) / 2)
        try:
            factors = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        except RuntimeError:
            raise RaffiaError(
                f"Helmholtz: frequency={self.frequency!r} is an eigenvalue on {grid.shape} points: pass another."
            ) from None
        solution = factors.solve(right.numpy().ravel())
        return torch.from_numpy(solution.reshape(grid.shape)).to(c.device)


def _along(points: int, h: float, part: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """δ² with reflecting ends, and the mean 1 + h²δ²/part of neighbours, along one axis."""
    off = np.ones(points - 1)
    upper, lower = off.copy(), off.copy()
    upper[0] = lower[-1] = 2.0
    second = sparse.diags([lower, np.full(points, -2.0), upper], [-1, 0, 1], format="csr")
    return second / h**2, sparse.identity(points, format="csr") + second / part
