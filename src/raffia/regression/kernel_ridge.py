"""Models without random features, n_features=inf: kernel ridge regression, and ridge regression of a linear map.

Kernel ridge regression is F(a) = Σ_i c_i k(a, a_i) with (K + λ) c = y: the limit m = ∞ of scalar features, with the same λ. The linear map
F(a) = ȳ + B (x − x̄) has the penalty λ ‖B‖² and a free intercept. Both are trained from coordinates x of the inputs and embedded outputs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression.feature_stream import available_memory
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.ridge_path import DualPath
from raffia.regression.solvers.base import Solution, condition_of
from raffia.regression.statistics import Statistics, refuse_other_problem
from raffia.spaces import Nodes


@dataclass(frozen=True, eq=False)
class KernelStream:
    """How pairs are converted to coordinates and embedded outputs."""

    feature_map: FeatureMap
    grid: Nodes
    """The nodes of the outputs."""
    device: torch.device


@dataclass(frozen=True, eq=False)
class KernelEquations(Statistics):
    """The statistics of a model with n_features=inf: coordinates x_i of the inputs and embedded outputs y_i. They add by stacking."""

    inputs: Float[Tensor, "n size"]
    targets: Float[Tensor, "n columns"]

    @classmethod
    def assemble(cls, stream: Any, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "KernelEquations":
        """The coordinates and embedded outputs of some pairs."""
        return cls(stream.feature_map.coordinates(a.to(stream.device)), stream.grid.embed(y.to(stream.device)))

    def nothing(self) -> "KernelEquations":
        """No rows."""
        return type(self)(self.inputs[:0].cpu(), self.targets[:0].cpu())

    def __add__(self, other: "KernelEquations") -> "KernelEquations":
        """All rows."""
        refuse_other_problem(tuple(self.targets.shape[1:]), tuple(other.targets.shape[1:]))
        device = (other if self.n_samples == 0 else self).targets.device
        both = (self.inputs, other.inputs), (self.targets, other.targets)
        return type(self)(*(torch.cat([one.to(device), two.to(device)]) for one, two in both))

    def check(self) -> None:
        """Refuse values whose squares overflow."""
        for name, values in (("a", self.inputs), ("y", self.targets)):
            if not torch.isfinite(values.square().sum()):
                raise RaffiaError(f"{name} is too large to be squared in float64: use larger units, or pass normalize=True.")

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """The number of pairs."""
        return len(self.inputs)

    @property
    def rhs(self) -> Float[Tensor, "n columns"]:  # type: ignore[override]
        """The outputs; there are as many unknowns as pairs."""
        return self.targets

    @property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return self.targets.square().sum()

    def apply(self, x: Tensor) -> NoReturn:
        """There is no Gram matrix."""
        raise RaffiaError("a kernel model (n_features=inf) has no features, hence no Gram matrix of them.")


PARTS = ("coef", "centres", "origin", "directions")


@dataclass(frozen=True, eq=False)
class KernelSolution(Solution):
    """Coefficients: of a kernel, one row for each centre; of a linear map, the intercept and one row for each direction."""

    centres: Float[Tensor, "n rank"] | None = None
    """The training inputs in the coordinates of the kernel; None for a linear map."""
    origin: Float[Tensor, "size"] | None = None
    directions: Float[Tensor, "rank size"] | None = None

    def __post_init__(self) -> None:
        """Store tensors contiguously, as files do, so that products are the same bit for bit."""
        for name in PARTS:
            if (part := getattr(self, name)) is not None:
                object.__setattr__(self, name, part.contiguous())

    def to(self, device: torch.device) -> "KernelSolution":
        """Return a copy on another device."""
        return replace(self, **{name: part.to(device) for name in PARTS if (part := getattr(self, name)) is not None})


def project(x: Tensor, origin: Tensor | None, directions: Tensor | None) -> Tensor:
    """Project on `directions` from `origin`; without directions, return x."""
    return x if directions is None or origin is None else (x - origin) @ directions.mT


def kernel_coordinates(feature_map: FeatureMap, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The coordinates that the kernel uses, with origin and directions: all or, with `whitening`, weighted principal components.

    The weight of a principal component is a power of its standard deviation.
    """
    power = float(getattr(feature_map, "whitening", 0.0))
    if power == 0:
        return x, None, None
    origin = x.mean(0)
    path = DualPath.of_rows(x - origin)
    directions, deviations = path.directions, path.s.sqrt()
    assert directions is not None  # of rows
    kept = deviations > 1e-7 * deviations.max()
    deviations, directions = deviations[kept], directions[kept]
    weights = deviations**-power
    weights = weights * (deviations.norm() / (weights * deviations).norm())  # with equal total variance
    directions = weights[:, None] * directions
    return project(x, origin, directions), origin, directions


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """Kernel ridge regression with the kernel of a feature map."""

    feature_map: FeatureMap

    def path(self, equations: KernelEquations) -> DualPath:
        """The eigendecomposition of the matrix k(a_i, a_j)."""
        n, there = equations.n_samples, available_memory(equations.rhs.device)
        if (need := DEFAULTS.kernel_copies * 8 * n * n) > there:
            raise RaffiaError(
                f"n_features=inf takes {need / 2**30:.1f} GiB for the kernel of {n} pairs, and {there / 2**30:.1f} GiB are free: "
                "pass a number of features, or fewer pairs."
            )
        x = kernel_coordinates(self.feature_map, equations.inputs)[0]
        return DualPath.of_kernel(self.feature_map.kernel_of(x, x))

    def solve(self, equations: KernelEquations, ridge: float, path: DualPath | None = None) -> KernelSolution:
        """By Cholesky or, if K + λ is not positive definite in floating point, by eigenvectors without those of rounding errors."""
        x, origin, directions = kernel_coordinates(self.feature_map, equations.inputs)
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
        parts = zip(
            coef.split(DEFAULTS.residual_columns, 1), equations.targets.split(DEFAULTS.residual_columns, 1), strict=True
        )
        defect = torch.stack([torch.linalg.vector_norm(shifted @ c - y) for c, y in parts]).norm()
        size = torch.linalg.vector_norm(equations.targets)
        residual = float(defect / size) if size > 0 else float(defect)
        return KernelSolution(coef, residual, rank, condition, solver=how, centres=x, origin=origin, directions=directions)

    def values(self, solution: KernelSolution) -> Callable[[Tensor], Tensor]:
        """F as a function of coordinates."""
        assert solution.centres is not None  # of a kernel
        centres = solution.centres
        return lambda x: self.feature_map.kernel_of(project(x, solution.origin, solution.directions), centres) @ solution.coef

    def spread(self, equations: KernelEquations, path: DualPath, ridge: float) -> Callable[[Tensor], Tensor]:
        """Var F(a) = (k(a, a) − k(a, ·) (K + λ)⁻¹ k(·, a)) / λ, in units of the noise variance."""
        centres, origin, directions = kernel_coordinates(self.feature_map, equations.inputs)
        kernel = self.feature_map.kernel_of

        def variance(x: Tensor) -> Tensor:
            x = project(x, origin, directions)
            left = kernel(x, centres) @ path.U
            return ((kernel(x, x) - (left / (path.s + ridge)) @ left.mT) / ridge).diagonal()

        return variance


@dataclass(frozen=True, eq=False)
class LinearRidge:
    """Ridge regression of a linear map by the singular values of x − x̄, which are not squared, so errors reach rounding."""

    def path(self, equations: KernelEquations) -> DualPath:
        """The eigendecomposition of K = (x − x̄)(x − x̄)ᵀ, with principal directions. The intercept adds 1/n to each leverage."""
        return DualPath.of_rows(equations.inputs - equations.inputs.mean(0), free=1 / equations.n_samples)

    def solve(self, equations: KernelEquations, ridge: float, path: DualPath | None = None) -> KernelSolution:
        """In the basis of principal components."""
        path = path or self.path(equations)
        root, mean = path.s.sqrt(), equations.targets.mean(0)
        coef = (path.U.mT @ (equations.targets - mean)) * (root / (path.s + ridge))[:, None]
        condition = float((path.s.max() + ridge) / (path.s.min() + ridge)) if len(root) else math.nan
        coef, origin = torch.cat([mean[None], coef]), equations.inputs.mean(0)
        how = "singular values of x"
        return KernelSolution(coef, 0.0, len(root), condition, solver=how, origin=origin, directions=path.directions)

    def values(self, solution: KernelSolution) -> Callable[[Tensor], Tensor]:
        """F as a function of coordinates."""
        return lambda x: solution.coef[0] + project(x, solution.origin, solution.directions) @ solution.coef[1:]

    def spread(self, equations: KernelEquations, path: DualPath, ridge: float) -> Callable[[Tensor], Tensor]:
        """Var F for coefficients with the prior N(0, 1/λ) and the intercept, in units of the noise variance."""
        origin, directions = equations.inputs.mean(0), path.directions
        assert directions is not None  # of rows

        def variance(x: Tensor) -> Tensor:
            x = x - origin
            left = x @ directions.mT
            outside = (x - left @ directions) @ (x - left @ directions).mT / ridge
            return (1 / len(path.U) + (left / (path.s + ridge)) @ left.mT + outside).diagonal()

        return variance
