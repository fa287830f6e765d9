"""Modal coefficients that outnumber the samples: statistics hold the features, and systems have the size of the number of samples.

With K_k = V_kᴴ V_k / m, the solution of `modal_equations.py` is α(k) = α⁰ + V_k c_k with (K_k + λ_k) c_k = Y_k − V_kᴴ α⁰/m, and leaving
out sample i leaves r_i(k)/(1 − h_i(k)) = c_i(k) / ((K_k + λ_k)⁻¹)_ii.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.regression.modal_equations import ModalEquations, ModalProblem, check_sums
from raffia.regression.modal_stream import Features, ModalStream, Sampled, Targets, ranges, squared
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.statistics import Statistics, add_lower_triangle, factorised, mirror


@dataclass(frozen=True, eq=False)
class ModalDual(ModalProblem, Statistics):
    """V_k and Y_k of all samples."""

    portable: ClassVar[bool] = False

    V: Features
    Y: Targets
    twice: Float[Tensor, "blocks"]
    energy: Float[Tensor, ""]
    n_samples: int
    features: int

    @classmethod
    def assemble(cls, stream: ModalStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "ModalDual":  # type: ignore[override]
        """Evaluate all features."""
        V, Y = stream.whole(a, y)
        return cls(V, Y, stream.twice, stream.energy(y), len(a), stream.n_features)

    def nothing(self) -> "ModalDual":
        """No samples."""
        return replace(self, V=self.V[:, :, :0], Y=self.Y[:, :0], energy=torch.zeros_like(self.energy), n_samples=0)

    def __add__(self, other: "ModalDual") -> "ModalDual":
        """The samples of both."""
        V, Y = torch.cat([self.V, other.V], 2), torch.cat([self.Y, other.Y], 1)
        return replace(self, V=V, Y=Y, energy=self.energy + other.energy, n_samples=self.n_samples + other.n_samples)

    def at(self, blocks: Int[Tensor, "some"]) -> "ModalDual":
        """Some of the blocks."""
        return replace(self, V=self.V[blocks], Y=self.Y[blocks], twice=self.twice[blocks])

    def thinned(self, a: Tensor, y: Tensor) -> tuple["ModalDual", Tensor, Tensor]:
        """Fewer samples, evenly spread, where many would make large systems. Ridges do not depend on the number of samples."""
        if self.n_samples <= DEFAULTS.most_scanned[self.V.device.type]:
            return self, a, y
        rows = torch.linspace(0, self.n_samples - 1, DEFAULTS.most_scanned[self.V.device.type]).round().long()
        here, energy = rows.to(self.V.device), self.energy * (len(rows) / self.n_samples)
        few = replace(self, V=self.V[:, :, here], Y=self.Y[:, here], energy=energy, n_samples=len(rows))
        return few, a[rows.to(a.device)], y[rows.to(y.device)]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the coefficients."""
        return self.V.dtype

    @property
    def start_shape(self) -> tuple[int, ...]:
        """The shape of the coefficients of one block."""
        return self.V.shape[1], self.Y.shape[2]

    @property
    def primal(self) -> ModalEquations:
        """The normal equations."""
        return ModalEquations(
            grams=self.V @ self.V.mH / self.features,
            sides=self.V @ self.Y,
            twice=self.twice,
            energies=self._energies,
            energy=self.energy,
            n_samples=self.n_samples,
            features=self.features,
        )

    @property
    def gram(self) -> Float[Tensor, "p p"]:  # type: ignore[override]
        """Of ordinary coefficients, summed over all modes."""
        size = self.V.shape[1]
        gram = torch.zeros(size, size, dtype=self.twice.dtype, device=self.twice.device)
        for weight, V in zip(self.twice.sqrt(), self.V, strict=True):
            rows = weight * V
            add_lower_triangle(gram, torch.view_as_real(rows).flatten(1) if rows.is_complex() else rows)
        mirror(gram)
        return gram.div_(self.features)

    @property
    def rhs(self) -> Float[Tensor, "p columns"]:  # type: ignore[override]
        """Of ordinary coefficients, summed over all modes."""
        return torch.einsum("k,kij->ij", self.twice, (self.V @ self.Y).real)

    @cached_property
    def traces(self) -> Float[Tensor, "blocks"]:
        """tr G_k over the random features."""
        return torch.stack([squared(V[: self.features]).sum() for V in self.V]) / self.features

    def residual(self, coef: Inexact[Tensor, "..."]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i)‖², as `ModalEquations.residual`."""
        coef = (coef.expand(1 + len(self.V), *coef.shape) if coef.ndim == 2 else coef)[1:].to(self.V)
        wrong = squared(self.Y - self.V.mH @ coef / self.features).sum((1, 2))
        return (self.energy + (self.twice * (wrong - self._energies)).sum()).clamp(min=0)

    def check(self) -> None:
        """Refuse features that are not finite or all zero on the data."""
        diagonal = torch.stack([squared(V).sum(1) for V in self.V])
        sides = torch.stack([V @ Y for V, Y in zip(self.V, self.Y, strict=True)])
        check_sums(diagonal.sum(0)[: self.features], sides, self.energy)

    def step(self, part: slice, factor: Tensor, start: Tensor) -> Inexact[Tensor, "some p columns"]:
        """V_k (K_k + λ_k)⁻¹ (Y_k − V_kᴴ α⁰/m)."""
        V = self.V[part]
        return V @ torch.cholesky_solve(self.Y[part] - V.mH @ start / self.features, factor)

    def sampled(self, stream: ModalStream, a: Tensor, y: Tensor, rows: Tensor) -> Sampled:
        """Some of the samples, by their indices."""
        rows = rows.to(self.V.device)
        return Sampled(self.V[:, :, rows], self.Y[:, rows], rows)

    def left_out(
        self, ridges: Float[Tensor, "blocks"], starts: Tensor, some: Sampled, coef: Tensor | None = None
    ) -> tuple[Targets, Float[Tensor, "blocks n"]]:
        """r_i(k) and 1 − h_i(k) of some samples, as `ModalEquations.left_out` gives them."""
        starts, rows = starts.to(self.V), some.rows.to(self.V.device)
        residuals, gaps = [], []
        unit = torch.zeros(self.n_samples, len(rows), dtype=self.V.dtype, device=self.V.device)
        unit[rows, torch.arange(len(rows), device=rows.device)] = 1
        for part in ranges(self.matrices):
            ridge = ridges[part]
            factor, failed = factorised(self.matrices[part], ridge)
            targets = self.Y[part].repeat(1, 1, starts.shape[1] // self.Y.shape[2]) - self.V[part].mH @ starts / self.features
            right = torch.cat([unit.expand(len(ridge), -1, -1), targets], dim=2)
            S, w = torch.linalg.solve_triangular(factor, right, upper=False).split([len(rows), starts.shape[1]], dim=2)
            lost, far = (failed != 0)[:, None], torch.isinf(ridge)[:, None]
            finite = torch.where(far, 1.0, ridge[:, None])
            if coef is not None:
                step = self.V[part] @ torch.linalg.solve_triangular(factor.mH, w, upper=True)
                coef[part] = starts + torch.where(far[..., None], 0, step)
            gaps.append(torch.where(lost, 0.0, torch.where(far, 1.0, finite * squared(S).sum(1))))
            residuals.append(torch.where(far[..., None], targets[:, rows], finite[..., None] * (S.mH @ w)))
        return torch.cat(residuals), torch.cat(gaps)

    @property
    def _energies(self) -> Float[Tensor, "blocks"]:
        return squared(self.Y).sum((1, 2))

    @cached_property
    def matrices(self) -> Inexact[Tensor, "blocks n n"]:  # type: ignore[override]
        """K_k."""
        V, n = self.V, self.n_samples
        if V.is_cuda:
            return V.mH @ V / self.features
        kernels = V.new_zeros(len(V), n, n)
        for kernel, part in zip(kernels, V, strict=True):
            add_lower_triangle(kernel, part.mH)
            mirror(kernel)
        return kernels.div_(self.features)
