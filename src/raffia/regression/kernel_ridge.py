"""Kernel ridge regression: F(a) = Σ_i c_i k(a, a_i) with (K + λ) c = y, the limit m = ∞ of scalar features, with the same λ."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression.dual_path import DualPath
from raffia.regression.kernel_equations import KernelEquations
from raffia.regression.kernel_solution import KernelSolution, Spread, project, seen
from raffia.regression.memory_budget import available_memory
from raffia.regression.solvers.base import condition_of

COLUMNS = 512  # of outputs whose residuals are looked at together
COPIES = 4  # of the kernel matrix: itself, its eigenvectors, and what finding them takes


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """With the kernel of a feature map."""

    feature_map: FeatureMap

    def path(self, equations: KernelEquations) -> DualPath:
        """Of the matrix of k(a_i, a_j)."""
        n, there = equations.n_samples, available_memory(equations.rhs.device)
        if (need := COPIES * 8 * n * n) > there:
            raise RaffiaError(
                f"n_features=inf takes {need / 2**30:.1f} GiB for the kernel of {n} pairs, and {there / 2**30:.1f} GiB are free: "
                "pass a number of features, or fewer pairs."
            )
        x = seen(self.feature_map, equations.inputs)[0]
        return DualPath.of_kernel(self.feature_map.kernel_of(x, x))

    def centred(self, y: Float[Tensor, "n columns"]) -> Float[Tensor, "n columns"]:
        """Outputs as they are: there is no intercept."""
        return y

    def solve(self, equations: KernelEquations, ridge: float, path: DualPath | None = None) -> KernelSolution:
        """By Cholesky; where K + λ is not positive definite to working precision, by eigenvectors, those of rounding left out."""
        x, origin, directions = seen(self.feature_map, equations.inputs)
        shifted = self.feature_map.kernel_of(x, x)
        shifted.diagonal().add_(ridge)
        factor, failed = torch.linalg.cholesky_ex(shifted)
        if ridge > 0 and not failed:
            coef = torch.cholesky_solve(equations.targets, factor)
            rank, condition, how = len(x), condition_of(factor), "Cholesky of the kernel"
        else:
            path = DualPath.of_kernel(shifted)
            kept = path.s > path.s[0]
            coef = path.U[:, kept] @ ((path.U[:, kept].mT @ equations.targets) / path.s[kept, None])
            rank, condition, how = int(kept.sum()), float(path.s[-1] / path.s[0]), "eigenvectors of the kernel"
        parts = zip(coef.split(COLUMNS, 1), equations.targets.split(COLUMNS, 1), strict=True)
        defect = torch.stack([torch.linalg.vector_norm(shifted @ c - y) for c, y in parts]).norm()
        size = torch.linalg.vector_norm(equations.targets)
        residual = float(defect / size) if size > 0 else float(defect)
        return KernelSolution(coef, residual, rank, condition, 0, how, (), x, origin, directions)

    def values(self, solution: KernelSolution) -> Callable[[Tensor], Tensor]:
        """F for coordinates of inputs."""
        assert solution.centres is not None  # of a kernel
        centres = solution.centres
        return lambda x: self.feature_map.kernel_of(solution.seen(x), centres) @ solution.coef

    def spread(self, equations: KernelEquations, path: DualPath, ridge: float) -> Spread:
        """Cov(F(a), F(b)) = (k(a, b) − k(a, ·) (K + λ)⁻¹ k(·, b)) / λ."""
        centres, origin, directions = seen(self.feature_map, equations.inputs)
        kernel = self.feature_map.kernel_of

        def covariance(x: Tensor, y: Tensor) -> Tensor:
            x, y = (project(values, origin, directions) for values in (x, y))
            left, right = kernel(x, centres) @ path.U, kernel(y, centres) @ path.U
            return (kernel(x, y) - (left / (path.s + ridge)) @ right.mT) / ridge

        return covariance
