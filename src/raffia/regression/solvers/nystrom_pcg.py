"""Conjugate gradients with a randomised Nyström preconditioner (Frangella, Tropp, Udell, 2023)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.solvers.base import Solution, Solver, columns_of
from raffia.regression.statistics import NormalEquations, Statistics, Streamed


@dataclass(frozen=True, eq=False)
class NystromApproximation:
    """G ≈ U diag(s) Uᵀ, and the preconditioner P⁻¹ = (s_r + λ) U (s + λ)⁻¹ Uᵀ + (I − U Uᵀ) that it gives."""

    U: Float[Tensor, "m rank"]
    s: Float[Tensor, "rank"]

    def precondition(self, x: Float[Tensor, "m columns"], ridge: float) -> Float[Tensor, "m columns"]:
        """P⁻¹ x."""
        inside = self.U.mT @ x
        return x + self.U @ (inside * ((self.s[-1] + ridge) / (self.s + ridge) - 1)[:, None])


def nystrom(equations: Statistics, rank: int, ridge: float, max_rank: int, seed: int = 0) -> NystromApproximation:
    """Sketch G, doubling the rank until the smallest eigenvalue is below 10 ridge or the rank is `max_rank`."""
    m, like = equations.n_features, equations.rhs
    generator = torch.Generator().manual_seed(seed)
    test = torch.empty(m, 0, dtype=like.dtype, device=like.device)
    image = torch.empty_like(test)
    while True:
        fresh = torch.randn(m, rank - test.shape[1], dtype=like.dtype, generator=generator).to(like.device)
        image = torch.cat([image, equations.apply(fresh)], dim=1)
        test = torch.cat([test, fresh], dim=1)
        found = _approximation(test, image)
        if found.s[-1] <= 10 * ridge or rank >= max_rank:
            return found
        rank = min(2 * rank, max_rank)


def _approximation(test: Float[Tensor, "m rank"], image: Float[Tensor, "m rank"]) -> NystromApproximation:
    """From Ω and GΩ: with Ω = QR the sketch of Q is GΩ R⁻¹, shifted to stay positive definite."""
    Q, R = torch.linalg.qr(test)
    image = torch.linalg.solve_triangular(R, image, upper=True, left=False)
    shift = torch.finfo(image.dtype).eps * torch.linalg.matrix_norm(image)
    image = image + shift * Q
    core = Q.mT @ image
    factor, failed = torch.linalg.cholesky_ex((core + core.mT) / 2)
    if failed:
        raise RaffiaError(
            "NystromPCG: the sketch of the Gram matrix is not positive definite to working precision. Pass a smaller rank."
        )
    U, s, _ = torch.linalg.svd(torch.linalg.solve_triangular(factor.mT, image, upper=True, left=False), full_matrices=False)
    return NystromApproximation(U, (s**2 - shift).clamp(min=0))


@dataclass(repr=False, eq=False)
class NystromPCG(Solver[Statistics]):
    """Solve by conjugate gradients with a Nyström preconditioner, for λ > 0, if G does not fit in memory.

    All columns of α are solved at once, to ‖residual‖ ≤ rtol·‖b‖ for each.

    Parameters
    ----------
    rank
        The rank of the preconditioner. None starts at m/16 and doubles until it contains all eigenvalues above 10 λ, up to
        m/2, or to m/8 if matrix-free with m > 8192, where it takes 3 m² bytes.
    rtol, max_iterations
        The relative residual to reach, and the limit of iterations.
    matrix_free
        Whether a step is a pass over the data, without forming G; otherwise it is a product with G.
    seed
        The seed of the sketch.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.solvers import NystromPCG
    >>> model = RandomFeatureModel(FourierFeatures(), n_features=20_000, ridge=1e-6, solver=NystromPCG(matrix_free=True))
    """

    rank: int | None = None
    rtol: float = 1e-8
    max_iterations: int = 500
    matrix_free: bool = False
    seed: int = 0

    @property
    def statistics(self) -> type[Statistics]:
        """The data, or G."""
        return Streamed if self.matrix_free else NormalEquations

    def solve(self, equations: Statistics, ridge: float) -> Solution:
        """Sketch, then iterate."""
        if not ridge > 0:
            raise RaffiaError("NystromPCG needs ridge > 0; pass ridge=1e-8, say, or solver=Pseudoinverse() for ridge=0.")
        m, b = equations.n_features, columns_of(equations.rhs)
        start = min(m, self.rank or max(16, m // 16))
        most = min(m, self.rank or max(start, m // (8 if self.matrix_free and m > 8192 else 2)))
        preconditioner = nystrom(equations, start, ridge, most, self.seed)
        goal = self.rtol * torch.linalg.vector_norm(b, dim=0)
        x, r = torch.zeros_like(b), b.clone()
        z = preconditioner.precondition(r, ridge)
        p, rz = z, (r * z).sum(0)
        for iteration in range(1, self.max_iterations + 1):
            q = equations.apply(p) + ridge * p
            step = rz / (p * q).sum(0).clamp(min=torch.finfo(b.dtype).tiny)
            x, r = x + step * p, r - step * q
            if (torch.linalg.vector_norm(r, dim=0) <= goal).all():
                condition = float((preconditioner.s[0] + ridge) / ridge)
                return self.solution(equations, ridge, x, rank=m, condition=condition, n_iter=iteration)
            z = preconditioner.precondition(r, ridge)
            before, rz = rz, (r * z).sum(0)
            p = z + rz / before.clamp(min=torch.finfo(b.dtype).tiny) * p
        worst = float((torch.linalg.vector_norm(r, dim=0) / goal.clamp(min=torch.finfo(b.dtype).tiny)).max()) * self.rtol
        raise RaffiaError(
            f"NystromPCG: no convergence in {self.max_iterations} iterations with rank {len(preconditioner.s)}, "
            f"relative residual {worst:.1e} for rtol={self.rtol:g}. Pass a larger rank, a larger ridge or more max_iterations."
        )
