"""Darcy flow (eqn:darcy_flow): the permeability a ↦ the pressure u."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import GaussianField, LevelSet, Measure, Pushforward
from raffia.problems.base import Problem, check_tensor
from raffia.problems.elimination import eliminate
from raffia.problems.elliptic import check_coefficient, check_rectangle, warn_if_unresolved
from raffia.problems.parameters import BelowOne, Count, FinePoints, Positive, check_parameters
from raffia.spaces import Domain, Grid
from raffia.spaces.calculus import poisson

Source = float | Callable[[Tensor, Tensor], Tensor] | Float[Tensor, "r1 r2"]

NUMBERS_IN_CACHE, NUMBERS_ELSEWHERE = 2**19, 2**26  # of a batch on a CPU, and on a GPU, which wants large ones
DIRECT, DIRECT_ELSEWHERE = 33, 49  # points along the shorter axis up to which elimination is the faster, on a CPU and on a GPU
LOOKED_AT = 8  # samples of which the error is estimated


@dataclass(repr=False, eq=False)
class Darcy(Problem):
    """Darcy flow −∇·(a∇u) = f on a rectangle, u = 0 on its boundary, with the map from the permeability a to the pressure u.

    The equation is solved by finite differences of second order. Small grids are solved by elimination, others by
    preconditioned conjugate gradients. Their number of iterations depends on the contrast max a / min a, not on the grid. A
    warning names a sufficient number of points if the grid does not resolve a solution.

    Parameters
    ----------
    source
        f: a number, its values on the grid of a, or a function of (x₁, x₂).
    law
        "level set": a takes the values `low` and `high`, as in the paper. "lognormal": a = exp(g) with a Gaussian field g.
    low, high
        The two values of a.
    tau, regularity, n_modes
        τ, α and the number of modes of the Gaussian field.
    fine_points
        The least number of points along an axis on which the equation is solved.
    face
        The mean of a between neighbours: "harmonic" or "arithmetic".
    tolerance, max_iterations
        When conjugate gradients stop: ‖residual‖ ≤ tolerance·‖f‖ for each sample.
    domain
        The rectangle.

    Examples
    --------
    >>> from raffia.problems import Darcy
    >>> a, u = Darcy(fine_points=33).dataset(2, points=17, seed=0)
    >>> u.shape, bool((u[:, 0] == 0).all())
    (torch.Size([2, 17, 17]), True)
    """

    source: Source = 1.0
    low: Positive = 3.0
    high: Positive = 12.0
    tau: Positive = 3.0
    regularity: float = 2.0
    n_modes: Count = 10_000
    fine_points: FinePoints = 257
    face: Literal["harmonic", "arithmetic"] = "harmonic"
    tolerance: BelowOne = 1e-10
    max_iterations: Count = 1000
    domain: Domain = field(default_factory=lambda: Domain(2, periodic=False))
    law: Literal["level set", "lognormal"] = "level set"

    @property
    def input_measure(self) -> Measure:
        """ν, the level set measure   (eqn:prior_levelset), or that of exp(g)."""
        if self.law == "level set":
            return LevelSet(self.low, self.high, self.tau, self.regularity, self.n_modes, domain=self.domain)
        return Pushforward(GaussianField(self.domain, "neumann", self.tau, self.regularity, self.n_modes), torch.exp)

    def check_together(self) -> None:
        """A rectangle, and two phases in order."""
        super().check_together()
        check_rectangle("Darcy", self.domain)
        if self.law == "level set" and self.low > self.high:
            raise RaffiaError(f"Darcy(low=…) must be at most high; got low={self.low!r} and high={self.high!r}. Swap them.")

    def solve(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n *grid"]:
        """u on the grid of a."""
        self._check(a)
        grid = self.domain.grid_of(a)
        f = self._source(grid, a)
        u = self._pressure(a.double(), f, grid)
        few = a[:LOOKED_AT].detach().double()
        warn_if_unresolved("Darcy", u[:LOOKED_AT].detach(), lambda step: self._on_every(step, few, f), orders=(1, 2))
        return u.to(a.dtype)

    def iterations(self, a: Float[Tensor, "n r1 r2"]) -> int:
        """How many iterations of conjugate gradients the hardest of these samples needs."""
        self._check(a)
        grid = self.domain.grid_of(a)
        return self._conjugate_gradients(a.double(), self._source(grid, a), grid)[1]

    def operator(self, a: Float[Tensor, "n r1 r2"], u: Float[Tensor, "n r1 r2"]) -> Float[Tensor, "n r1 r2"]:
        """−∇·(a∇u) at inner nodes, 0 on the boundary, for u that vanish there."""
        return _divergence(*self._faces(a, self.domain.grid_of(a)), u)

    def _on_every(self, step: int, a: Tensor, f: Tensor) -> Tensor:
        """Solutions on the grid of every second, third, … point."""
        a, f = a[:, ::step, ::step], f[::step, ::step]
        return self._pressure(a, f, self.domain.grid_of(a))

    def _pressure(self, a: Tensor, f: Tensor, grid: Grid) -> Tensor:
        """u, by elimination or by iterations, a batch at a time."""
        on_cpu, shorter = a.device.type == "cpu", min(grid.shape)
        direct = shorter <= (DIRECT if on_cpu else DIRECT_ELSEWHERE)
        numbers = grid.size * (shorter if direct else 1)
        size = max(1, (NUMBERS_IN_CACHE if on_cpu else NUMBERS_ELSEWHERE) // numbers)
        solve = self._eliminate if direct else lambda part, *rest: self._conjugate_gradients(part, *rest)[0]
        return torch.cat([solve(part, f, grid) for part in a.split(size)])

    def _eliminate(self, a: Tensor, f: Tensor, grid: Grid) -> Tensor:
        return torch.nn.functional.pad(eliminate(f[1:-1, 1:-1], *self._faces(a, grid)), (1, 1, 1, 1))

    def _faces(self, a: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        """Permeability between neighbours along each axis, divided by h²."""
        h1, h2 = grid.spacings
        mean = (lambda p, q: 2 * p * q / (p + q)) if self.face == "harmonic" else (lambda p, q: (p + q) / 2)
        return mean(a[:, 1:, 1:-1], a[:, :-1, 1:-1]) / h1**2, mean(a[:, 1:-1, 1:], a[:, 1:-1, :-1]) / h2**2

    def _conjugate_gradients(self, a: Tensor, f: Tensor, grid: Grid) -> tuple[Tensor, int]:
        """Preconditioned conjugate gradients. Samples that have converged no longer change, so that none depends on its batch."""
        faces = self._faces(a, grid)
        scale = (a.amax((-2, -1), keepdim=True) * a.amin((-2, -1), keepdim=True)).sqrt()
        u = poisson(f, grid) / scale
        r = _inside(f) - _divergence(*faces, u)
        goal = self.tolerance * torch.linalg.vector_norm(_inside(f))
        z = poisson(r, grid)
        p, rz = z, (r * z).sum((-2, -1), keepdim=True)
        for iteration in range(self.max_iterations):
            active = torch.linalg.vector_norm(r, dim=(-2, -1), keepdim=True) > goal
            if not active.any():
                return u, iteration
            q = _divergence(*faces, p)
            step = rz / (p * q).sum((-2, -1), keepdim=True)
            u, r = torch.where(active, u + step * p, u), torch.where(active, r - step * q, r)
            z = poisson(r, grid)
            before, rz = rz, (r * z).sum((-2, -1), keepdim=True)
            p = torch.where(active, z + rz / before * p, p)
        worst = float(torch.linalg.vector_norm(r, dim=(-2, -1)).max() / goal * self.tolerance)
        raise RaffiaError(
            f"Darcy: no convergence in {self.max_iterations} iterations, relative residual {worst:.1e}, "
            f"tolerance {self.tolerance:g}. Allow more with max_iterations, or a larger tolerance; "
            "the contrast max a / min a sets the pace."
        )

    def _source(self, grid: Grid, a: Tensor) -> Float[Tensor, "r1 r2"]:
        given = self.source(*grid.nodes().to(a.device).unbind(-1)) if callable(self.source) else self.source
        f = torch.as_tensor(given, dtype=torch.float64, device=a.device)
        if f.ndim and tuple(f.shape) != grid.shape:
            raise RaffiaError(f"Darcy(source=…) must be on the grid of a, {grid.shape}; got {tuple(f.shape)}. Pass a function.")
        if not torch.isfinite(f).all():
            raise RaffiaError("Darcy(source=…) must be finite; it has values that are not.")
        return f.expand(grid.shape)

    def _check(self, a: Tensor) -> None:
        check_parameters(self)
        check_tensor(a)
        check_coefficient(a, "a permeability")


def _divergence(c1: Tensor, c2: Tensor, u: Tensor) -> Tensor:
    flux1 = c1 * (u[:, 1:, 1:-1] - u[:, :-1, 1:-1])
    flux2 = c2 * (u[:, 1:-1, 1:] - u[:, 1:-1, :-1])
    inner = flux1[:, :-1] - flux1[:, 1:] + flux2[:, :, :-1] - flux2[:, :, 1:]
    return torch.nn.functional.pad(inner, (1, 1, 1, 1))


def _inside(f: Tensor) -> Tensor:
    """f with its boundary values set to zero."""
    return torch.nn.functional.pad(f[..., 1:-1, 1:-1], (1, 1, 1, 1))
