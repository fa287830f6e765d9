"""Normal equations of modal coefficients, which differ from mode to mode: one small problem for each block. Disjoint samples add.

With V_k the conjugate features of all samples in block k, (p, n), and Y_k the outputs there:

    G_k = V_k V_kᴴ / m,    b_k = V_k Y_k,    (G_k + λ_k) (α(k) − α⁰) = b_k − G_k α⁰

minimises Σ_i |Y_ki − V_kiᴴ α(k)/m|² + (λ_k/m) ‖α(k) − α⁰‖². Coefficients are shrunk towards ordinary ones, α⁰. Those are equal in all
blocks, so their normal equations are the sum over the blocks.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.modal_stream import ModalStream, Sampled, Targets, ranges, squared
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.ridge_path import RidgePath
from raffia.regression.statistics import (
    NormalEquations,
    Statistics,
    add_lower_triangle,
    factorised,
    mirror,
    refuse_other_problem,
)

Problem = TypeVar("Problem", bound="ModalProblem")


class ModalProblem(ABC):
    """Base of both forms of modal statistics: the ordinary coefficients α⁰, and the solution of all blocks."""

    twice: Float[Tensor, "blocks"]
    """The number of modes of each block: 2 where a mode stands for a conjugate pair."""
    energy: Float[Tensor, ""]
    n_samples: int
    features: int
    """m; the other unknowns of a block belong to the channels of the input and to the constant."""
    gram: Float[Tensor, "p p"]
    rhs: Float[Tensor, "p columns"]

    @property
    def n_features(self) -> int:
        """m."""
        return self.features

    matrices: Inexact[Tensor, "blocks size size"]
    """Those that are factorised: G_k, or the kernel K_k of the samples."""

    @property
    @abstractmethod
    def traces(self) -> Float[Tensor, "blocks"]:
        """tr G_k over the random features."""

    @property
    def scales(self) -> Float[Tensor, "blocks"]:
        """The traces, the size of ridges that matter. Never zero."""
        return self.traces.clamp(min=max(1e-16 * float(self.traces.max()), torch.finfo(self.traces.dtype).tiny))

    @property
    def scale(self) -> float:
        """tr G over the random features."""
        return float((self.twice * self.scales).sum())

    @property
    @abstractmethod
    def start_shape(self) -> tuple[int, ...]:
        """The shape of the coefficients of one block."""

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """The type of the coefficients."""

    @abstractmethod
    def step(self, part: slice, factor: Tensor, start: Tensor) -> Inexact[Tensor, "some p columns"]:
        """α(k) − α⁰ of some blocks, from the Cholesky factors of their matrices and α⁰ = `start`."""

    def solve(
        self, ridges: Float[Tensor, "blocks"], start: Tensor, allow_failures: bool = False
    ) -> Inexact[Tensor, "blocks p columns"]:
        """α(k), from α⁰ = `start`, (p, columns). An infinite ridge gives α(k) = α⁰. With `allow_failures`, blocks that fail are NaN."""
        start = start.to(self.twice.device, self.dtype)
        coef = start.new_empty(len(self.twice), *self.start_shape)
        for part in ranges(self.matrices):
            factor, failed = factorised(self.matrices[part], ridges[part])
            if failed.any() and not allow_failures:
                raise RaffiaError(
                    f"the equations of {int((failed != 0).sum())} of the modes are not positive definite with this ridge: pass a larger "
                    "one, or ridge='auto'."
                )
            step = self.step(part, factor, start)
            step[failed != 0] = torch.nan
            coef[part] = start + torch.where(torch.isinf(ridges[part])[:, None, None], 0, step)
        return coef

    def thinned(self: Problem, a: Tensor, y: Tensor) -> tuple[Problem, Tensor, Tensor]:
        """Fewer samples, evenly spread, where many would make large systems. Ridges do not depend on the number of samples."""
        return self, a, y

    def apply(self, x: Float[Tensor, "p columns"]) -> Float[Tensor, "p columns"]:
        """G x, for ordinary coefficients."""
        return self.gram @ x

    def ordinary(self) -> NormalEquations:
        """The normal equations of ordinary coefficients of the random features alone."""
        m = self.features
        return NormalEquations(self.gram[:m, :m], self.rhs[:m], self.energy, self.n_samples)

    @cached_property
    def ordinary_path(self) -> RidgePath:
        """Ordinary coefficients for every ridge."""
        return RidgePath(self.ordinary())

    def ordinary_part(self, ridge: float) -> Float[Tensor, "p columns"]:
        """α⁰, zero for the channels of the input and for an infinite ridge."""
        start = torch.zeros(self.start_shape, dtype=self.twice.dtype, device=self.twice.device)
        if math.isfinite(ridge):
            start[: self.features] = self.ordinary_path.coef(ridge)
        return start

    def solved(self, ridges: Float[Tensor, "ridges"], allow_failures: bool = False) -> Tensor:
        """α⁰ followed by α(k) of every block: (1 + blocks, p, columns)."""
        start = self.ordinary_part(float(ridges[0]))
        coef = self.solve(ridges[1:].to(self.twice), start, allow_failures)
        return torch.cat([start.to(coef)[None], coef])


@dataclass(frozen=True, eq=False)
class ModalEquations(ModalProblem, Statistics):
    """G_k, b_k, ‖y‖² and n. Statistics of disjoint samples add."""

    grams: Inexact[Tensor, "blocks p p"]
    sides: Inexact[Tensor, "blocks p columns"]
    twice: Float[Tensor, "blocks"]
    energies: Float[Tensor, "blocks"]
    """Σ_i |Y_ki|²."""
    energy: Float[Tensor, ""]
    n_samples: int
    features: int

    @classmethod
    def assemble(cls, stream: ModalStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "ModalEquations":  # type: ignore[override]
        """Stream over the samples."""
        grams, sides, twice = None, None, stream.twice
        energies = torch.zeros_like(twice)
        for V, Y in stream.blocks(a, y):
            if grams is None or sides is None:
                grams, sides = V.new_zeros(len(V), V.shape[1], V.shape[1]), torch.zeros_like(V @ Y)
            sides += V @ Y
            energies += squared(Y).sum((1, 2))
            if V.is_cuda:
                grams.baddbmm_(V, V.mH)
            else:
                for gram, part in zip(grams, V, strict=True):
                    add_lower_triangle(gram, part)
        assert grams is not None  # there is at least one sample
        assert sides is not None
        for gram in grams if not grams.is_cuda else ():
            mirror(gram)
        grams.div_(stream.n_features)
        energy, m = stream.energy(y), stream.n_features
        return cls(grams, sides, twice, energies, energy=energy, n_samples=len(a), features=m)

    def at(self, blocks: Int[Tensor, "some"]) -> "ModalEquations":
        """Some of the blocks."""
        grams, sides, twice, energies = (part[blocks] for part in (self.grams, self.sides, self.twice, self.energies))
        return replace(self, grams=grams, sides=sides, twice=twice, energies=energies)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the coefficients."""
        return self.sides.dtype

    @property
    def start_shape(self) -> tuple[int, ...]:
        """The shape of the coefficients of one block."""
        return tuple(self.sides.shape[1:])

    @property
    def primal(self) -> "ModalEquations":
        """The same statistics."""
        return self

    @property
    def gram(self) -> Float[Tensor, "p p"]:  # type: ignore[override]
        """Of ordinary coefficients: Σ_k G_k, over all modes."""
        return torch.einsum("k,kij->ij", self.twice, self.grams.real)

    @property
    def rhs(self) -> Float[Tensor, "p columns"]:  # type: ignore[override]
        """Of ordinary coefficients: Σ_k b_k, over all modes."""
        return torch.einsum("k,kij->ij", self.twice, self.sides.real)

    @property
    def matrices(self) -> Inexact[Tensor, "blocks p p"]:  # type: ignore[override]
        """G_k."""
        return self.grams

    @property
    def traces(self) -> Float[Tensor, "blocks"]:
        """tr G_k over the random features."""
        return self.grams.diagonal(dim1=1, dim2=2).real[:, : self.features].sum(1)

    def nothing(self) -> "ModalEquations":
        """Zeros that take no memory."""
        zero, twice = self.sides.new_zeros((), device="cpu"), self.twice.cpu()
        grams, sides = zero.expand(self.grams.shape), zero.expand(self.sides.shape)
        empty = replace(self, energies=0 * twice, energy=twice.new_zeros(()), n_samples=0)
        return replace(empty, grams=grams, sides=sides, twice=twice)

    def residual(self, coef: Inexact[Tensor, "..."]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i)‖² for coefficients (1 + blocks, p, columns), the first not used; or ordinary ones, (p, columns)."""
        coef = (coef.expand(1 + len(self.grams), *coef.shape) if coef.ndim == 2 else coef)[1:].to(self.sides)
        gain = ((2 * self.sides - self.grams @ coef) * coef.conj()).real.sum((1, 2))
        return (self.energy - (self.twice * gain).sum() / self.features).clamp(min=0)

    def __add__(self, other: "ModalEquations") -> "ModalEquations":
        """The statistics of both sets of samples together."""
        refuse_other_problem(tuple(self.sides.shape), tuple(other.sides.shape))
        device = (other if self.n_samples == 0 else self).sides.device
        return self._combined(other, device, 1)

    def __sub__(self, other: "ModalEquations") -> "ModalEquations":
        """The statistics of all samples but those of `other`, which must be among them."""
        return self._combined(other, self.sides.device, -1)

    def _combined(self, other: "ModalEquations", device: torch.device, sign: int) -> "ModalEquations":
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in ("grams", "sides", "energies", "energy")}
        sums: dict[str, Any] = {name: one.to(device) + sign * two.to(device) for name, (one, two) in pairs.items()}
        return replace(self, twice=self.twice.to(device), n_samples=self.n_samples + sign * other.n_samples, **sums)

    def check(self) -> None:
        """Refuse features that are not finite or all zero on the data."""
        check_sums(self.grams.diagonal(dim1=1, dim2=2).real.sum(0)[: self.features], self.sides, self.energy)

    def step(self, part: slice, factor: Tensor, start: Tensor) -> Inexact[Tensor, "some p columns"]:
        """(G_k + λ_k)⁻¹ (b_k − G_k α⁰)."""
        return torch.cholesky_solve(self.sides[part] - self.grams[part] @ start, factor)

    def sampled(self, stream: ModalStream, a: Tensor, y: Tensor, rows: Tensor) -> Sampled:
        """Some of the samples, by their indices."""
        return Sampled(*stream.whole(a[rows.to(a.device)], y[rows.to(y.device)]), rows)

    def left_out(
        self, ridges: Float[Tensor, "blocks"], starts: Tensor, some: Sampled, coef: Tensor | None = None
    ) -> tuple[Targets, Float[Tensor, "blocks n"]]:
        """r_i(k) and 1 − h_i(k) of some samples. Their quotient is the error of the model trained without sample i.

        `starts` holds one or more α⁰ side by side, and r has as many sets of columns. Where rounding leaves no digit of 1 − h, it is 0.
        If `coef` is given, α(k) are written into it.
        """
        V, Y = some.V, some.Y
        sides = self.sides.repeat(1, 1, starts.shape[1] // self.sides.shape[2])
        Y = Y.repeat(1, 1, starts.shape[1] // Y.shape[2])
        residuals, gaps = torch.empty_like(Y), Y.new_empty(Y.shape[:2], dtype=self.twice.dtype)
        starts = starts.to(sides)
        for part in ranges(self.grams):
            factor, failed = factorised(self.grams[part], ridges[part])
            right = torch.cat([V[part], sides[part] - self.grams[part] @ starts], dim=2)
            S, w = torch.linalg.solve_triangular(factor, right, upper=False).split([V.shape[2], starts.shape[1]], dim=2)
            far = (torch.isinf(ridges[part]) | (failed != 0))[:, None]
            gap = 1 - torch.where(far, 0.0, squared(S).sum(1) / self.features)
            step = torch.where(far[..., None], 0, S.mH @ w / self.features)
            residuals[part] = Y[part] - V[part].mH @ starts / self.features - step
            if coef is not None:
                moved = torch.linalg.solve_triangular(factor.mH, w, upper=True)
                coef[part] = starts + torch.where(far[..., None], 0, moved)
            gaps[part] = torch.where((failed != 0)[:, None] | (gap < DEFAULTS.least_gap), 0.0, gap)
        return residuals, gaps


def check_sums(diagonal: Float[Tensor, "m"], sides: Tensor, energy: Tensor) -> None:
    """Refuse sums that are not finite and features that are all zero, as `NormalEquations.check` does."""
    NormalEquations(torch.diag(diagonal), sides[:, : len(diagonal)].abs().sum((0, 2)), energy, 1).check()
