"""Sketch and precondition: LSQR on A with the triangular factor of a sparse-sign sketch of A as preconditioner."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.solvers.base import Solution, Solver
from raffia.regression.streamed import Streamed

SIGNS_PER_ROW = 8


@dataclass(repr=False, eq=False)
class SketchedLSQR(Solver[Streamed]):
    """Minimises ‖[A/√m; √λ] α − [√m y; 0]‖ by LSQR (Paige and Saunders, 1982) after the change of variables R α.

    R is the triangular factor of [SA/√m; √λ] with S a sparse-sign sketch of `oversampling`·m rows, so what is left to LSQR has a
    condition number below 10 or so, whatever that of A. For tiny λ and many rows; each iteration is two passes over the
    features.
    """

    oversampling: float = 2.0
    rtol: float = 1e-12
    max_iterations: int = 200
    seed: int = 0

    @property
    def statistics(self) -> type[Streamed]:
        """The data."""
        return Streamed

    def solve(self, equations: Streamed, ridge: float) -> Solution:
        """Sketch, factor, start from the solution of the sketched problem, iterate, and iterate once more on what is left.

        The start and the second round are what makes the method forward stable (Epperly, 2024; Meier et al., 2024).
        """
        R, coef = self.sketched(equations, ridge)
        n_iter = 0
        for _ in range(2):
            change, iterations = self._lsqr(_Augmented(equations, ridge, R), coef)
            coef, n_iter = coef + change, n_iter + iterations
        diagonal = R.diagonal().abs()
        condition = float((diagonal.max() / diagonal.min()) ** 2)
        return self.solution(equations, ridge, coef, rank=len(R), condition=condition, n_iter=n_iter)

    def _lsqr(self, operator: "_Augmented", start: Float[Tensor, "m columns"]) -> tuple[Tensor, int]:
        """The correction to `start`, and how many iterations it took."""
        goal = self.rtol * _norm([operator.transposed(operator.residual(torch.zeros_like(start)))])
        u, beta = _normalised(operator.residual(start))
        (v,), alpha = _normalised([operator.transposed(u)])
        w, x = v, torch.zeros_like(v)
        phi, rho = beta, alpha
        for iteration in range(self.max_iterations):
            if (phi * rho.abs() <= goal).all():  # the norm of Bᵀ times the residual
                return torch.linalg.solve_triangular(operator.R, x, upper=True), iteration
            u, beta = _normalised([p - alpha * q for p, q in zip(operator.product(v), u, strict=True)])
            (v,), alpha = _normalised([operator.transposed(u) - beta * v])
            length = torch.hypot(rho, beta).clamp(min=torch.finfo(rho.dtype).tiny)
            c, s = rho / length, beta / length
            theta, rho, step, phi = s * alpha, -c * alpha, c * phi, s * phi
            x, w = x + step / length * w, v - theta / length * w
        raise RaffiaError(
            f"SketchedLSQR: no convergence in {self.max_iterations} iterations to rtol={self.rtol:g}. "
            "Pass more oversampling, a larger rtol, or a larger ridge."
        )

    def sketched(self, equations: Streamed, ridge: float) -> tuple[Float[Tensor, "m m"], Float[Tensor, "m columns"]]:
        """The triangular factor of [SA/√m; √λ], and the minimiser of the sketched problem."""
        m, height = equations.n_features, int(self.oversampling * equations.n_features)
        generator = torch.Generator().manual_seed(self.seed)
        sketch: Tensor | None = None
        for rows, target in equations.blocks():
            both = torch.cat([rows.mT / m**0.5, m**0.5 * target.reshape(len(target), -1)], dim=1)
            sketch = both.new_zeros(height, both.shape[1]) if sketch is None else sketch
            for _ in range(SIGNS_PER_ROW):
                place = torch.randint(height, (len(both),), generator=generator)
                sign = 1 - 2 * torch.randint(2, (len(both),), generator=generator)
                sketch.index_add_(0, place.to(both.device), both * sign.to(both)[:, None])
        assert sketch is not None  # there is at least one sample
        penalty = torch.zeros(m, sketch.shape[1], dtype=sketch.dtype, device=sketch.device)
        penalty.diagonal().fill_(ridge**0.5)
        triangle = torch.linalg.qr(torch.cat([sketch / SIGNS_PER_ROW**0.5, penalty]), mode="r").R
        R = triangle[:m, :m]
        if len(R) < m or not (R.diagonal().abs() > torch.finfo(R.dtype).eps * R.diagonal().abs().max()).all():
            raise RaffiaError(
                f"SketchedLSQR needs independent features or a ridge: with ridge={ridge:g} the sketch has a deficient rank. "
                "Pass a larger ridge, or solver=TriangularQR() for the minimum-norm solution."
            )
        return R, torch.linalg.solve_triangular(R, triangle[:m, m:], upper=True)


@dataclass(frozen=True, eq=False)
class _Augmented:
    """B = [A/√m; √λ] R⁻¹; its left vectors are lists, one part a batch of samples and the last for the ridge."""

    equations: Streamed
    ridge: float
    R: Tensor

    def residual(self, coef: Tensor) -> list[Tensor]:
        """[√m y; 0] − [A/√m; √λ] coef."""
        m = self.equations.n_features
        parts = [m**0.5 * y.reshape(len(y), -1) - rows.mT @ coef / m**0.5 for rows, y in self.equations.blocks()]
        return [*parts, -(self.ridge**0.5) * coef]

    def product(self, v: Tensor) -> Iterator[Tensor]:
        x = torch.linalg.solve_triangular(self.R, v, upper=True)
        for part in self.equations.product(x):
            yield part / self.equations.n_features**0.5
        yield self.ridge**0.5 * x

    def transposed(self, u: list[Tensor]) -> Tensor:
        back = self.equations.transposed(iter(u[:-1])) / self.equations.n_features**0.5 + self.ridge**0.5 * u[-1]
        return torch.linalg.solve_triangular(self.R.mT, back, upper=False)


def _norm(parts: list[Tensor]) -> Tensor:
    """The norm of each column of a vector given in parts."""
    return torch.stack([part.square().sum(0) for part in parts]).sum(0).sqrt()


def _normalised(parts: list[Tensor]) -> tuple[list[Tensor], Tensor]:
    """u / ‖u‖ and ‖u‖, column by column; zero stays zero."""
    norm = _norm(parts)
    return [part / torch.where(norm > 0, norm, 1.0) for part in parts], norm
