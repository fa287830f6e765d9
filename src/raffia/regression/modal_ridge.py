"""Ridges of modal coefficients by leaving out one function at a time: one for each block, and one for the ordinary coefficients.

The blocks are separate problems, so the error of leaving out function i is one number in each: e_i(k) = r_i(k) / (1 − h_i(k)). If
coefficients are shrunk towards ordinary ones α⁰, with training errors r⁰ and leave-one-out errors e⁰, then α⁰ is trained without i too:

    e_i(k) = e⁰_i(k) − r⁰_i(k) + r_i(k) / (1 − h_i(k)).

Ridges are a vector (λ₀, λ₁, …, λ_B): λ₀ of the ordinary part, infinite if there is none, then one for each block.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.metrics import ErrorMeasure
from raffia.regression.leave_one_out import best_ridge, fold_ridge, leave_one_out
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_stream import ModalStream, RealRows, Sampled, Targets, squared
from raffia.regression.regression_defaults import (
    LEFT_OUT_BYTES,
    LEFT_OUT_SAMPLES,
    MOST_ORDINARY,
    ORDINARY_SAMPLES,
    SCANNED_SAMPLES,
)
from raffia.regression.ridge_search import INF, Squares, search_ridges

ModalStatistics = ModalEquations | ModalDual


@dataclass(frozen=True, eq=False)
class ModalNoise:
    """s_k² = E|⟨y − F, ψ_k⟩|², the noise variance in each block; a column for each channel."""

    variance: Float[Tensor, "blocks columns"]

    def __mul__(self, factor: float) -> "ModalNoise":
        return ModalNoise(factor * self.variance)


@dataclass(frozen=True, eq=False)
class ModalLeftOut:
    """The results of leaving out one function at a time, and the coefficients, a by-product: α⁰ and α(k) of every block."""

    errors: Float[Tensor, "n"]
    noise: ModalNoise
    coef: Inexact[Tensor, "blocks_and_one p columns"]
    modal: Targets
    """e_i(k) of the left-out samples."""


def modal_ridges(
    statistics: ModalStatistics, stream: ModalStream, a: Tensor, y: Tensor, measure: ErrorMeasure
) -> Float[Tensor, "ridges"]:
    """The ridges of the least leave-one-out error on some samples, with an ordinary part or without, whichever is better."""
    whole = statistics
    statistics, a, y = statistics.thinned(a, y)
    few = torch.linspace(0, len(a) - 1, min(len(a), SCANNED_SAMPLES)).long()
    some_a, some_y = (f[few.to(f.device)] for f in (a, y))
    some, sizes = statistics.sampled(stream, a, y, few), measure.sizes(some_y, stream.stream.grid).to(statistics.twice)
    towards, outside = _ordinary_left_out(statistics, stream, some, some_a, some_y, measure)
    ordinary = statistics.ordinary_part(towards)
    starts = torch.cat([torch.zeros_like(ordinary), ordinary], dim=1)
    apart = outside - (some.Y - some.V.mH @ ordinary.to(some.V) / statistics.features)
    apart = torch.cat([torch.zeros_like(apart), apart], dim=2)

    def squares(ridges: Float[Tensor, "blocks"], which: Int[Tensor, "blocks"] | None) -> Squares:
        """Squared errors without an ordinary part, and with it."""
        known, here, more = (statistics, some, apart) if which is None else (statistics.at(which), some.at(which), apart[which])
        if torch.isinf(ridges).all():  # the ordinary part alone: no equations to solve
            e = here.Y.repeat(1, 1, 2) - here.V.mH @ starts.to(here.V) / statistics.features + more
        else:
            e = _quotient(*known.left_out(ridges, starts, here)) + more
        return (squared(e) / sizes[:, None] ** 2).unflatten(2, (2, -1)).sum(3)

    variant, ridges, _ = search_ridges(statistics.scales, statistics.twice, squares)
    if statistics is not whole:  # larger systems are positive definite with somewhat larger ridges only
        ridges = torch.maximum(ridges, 10 * whole.n_samples * torch.finfo(ridges.dtype).eps * whole.scales)
    return torch.cat([ridges.new_tensor([towards if variant else INF]), ridges])


def modal_left_out(
    statistics: ModalStatistics,
    stream: ModalStream,
    a: Tensor,
    y: Tensor,
    ridges: Tensor,
    measure: ErrorMeasure,
    every: bool = False,
) -> ModalLeftOut:
    """Leave-one-out errors, and the noise variance estimated from them: the mean of |e_i(k)|² / (1 + h_i/(1 − h_i)).

    Unless `every` is True, at most 512 samples are left out, evenly spread, and at most 128 if features are expensive.
    """
    own, towards = ridges[1:].to(statistics.twice), float(ridges[0])
    start = statistics.ordinary_part(towards)
    coef = torch.empty(len(own), *start.shape, dtype=statistics.dtype, device=own.device)
    sizes = measure.sizes(y, stream.stream.grid).to(own)
    errors, wrong, total = [], [], torch.zeros(len(own), start.shape[1], dtype=own.dtype, device=own.device)
    most = len(a) if every else SCANNED_SAMPLES if stream.stream.feature_map.expensive else LEFT_OUT_SAMPLES
    everyone = torch.linspace(0, len(a) - 1, min(len(a), most)).round().long()
    for rows in everyone.split(max(1, LEFT_OUT_BYTES // (16 * len(own) * len(start)))):
        some = statistics.sampled(stream, a, y, rows)
        residual, gap = statistics.left_out(own, start, some, coef)
        e = _quotient(residual, gap)
        if towards != INF:
            part_a, part_y = (f[rows.to(f.device)] for f in (a, y))
            left_out = leave_one_out(statistics.ordinary_path, RealRows(stream, some), part_a, part_y, [towards])
            outside = RealRows(stream).modal_of(left_out.functions, some.Y)
            e = e + outside - (some.Y - some.V.mH @ start.to(some.V) / statistics.features)
        squares = squared(e)
        wrong.append(e)
        errors.append((statistics.twice[:, None, None] * squares).sum((0, 2)).sqrt() / sizes[rows.to(sizes.device)])
        total += (gap[..., None] * squares).sum(1)  # 1/(1 + h/(1 − h)) = 1 − h
    noise, whole = ModalNoise(total / len(everyone)), torch.cat([start.to(coef)[None], coef])
    return ModalLeftOut(torch.cat(errors), noise, whole, torch.cat(wrong, dim=1))


def modal_fold_ridges(folds: Sequence[ModalEquations]) -> tuple[Float[Tensor, "ridges"], float]:
    """The ridges of the least k-fold error, and that error, from the statistics of the folds alone."""
    towards, _ = fold_ridge([fold.ordinary() for fold in folds])
    total = sum(folds[1:], start=folds[0])
    parts = [(total - fold, fold) for fold in folds]
    starts = [[rest.ordinary_part(ridge) for rest, _ in parts] for ridge in (INF, towards)]

    def squares(ridges: Float[Tensor, "blocks"], which: Int[Tensor, "blocks"] | None) -> Squares:
        """Squared errors over all folds together, as one sample."""
        here = parts if which is None else [(rest.at(which), fold.at(which)) for rest, fold in parts]
        sums = [
            sum((_misfit(*part, ridges, start) for part, start in zip(here, some, strict=True)), 0 * ridges) for some in starts
        ]
        return torch.stack(sums, dim=1)[:, None] / total.energy

    variant, ridges, error = search_ridges(total.scales, total.twice, squares)
    outside = max(0.0, 1 - float((total.twice * total.energies).sum() / total.energy))
    return torch.cat([ridges.new_tensor([towards if variant else INF]), ridges]), math.sqrt(error**2 + outside)


def _ordinary_left_out(
    statistics: ModalStatistics, stream: ModalStream, some: Sampled, a: Tensor, y: Tensor, measure: ErrorMeasure
) -> tuple[float, Targets]:
    """The ridge of ordinary coefficients and their leave-one-out errors for `some` samples; infinite if there are too many features."""
    if statistics.features > MOST_ORDINARY:
        return INF, some.Y
    path = statistics.ordinary_path
    few = torch.linspace(0, len(a) - 1, min(len(a), ORDINARY_SAMPLES)).long()

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        held = RealRows(stream, some.few(few))
        return leave_one_out(path, held, a[few.to(a.device)], y[few.to(y.device)], ridges, measure=measure).errors

    ridge, _ = best_ridge(errors, float(path.s[-1]), range(-16, 1, 2))
    rows = RealRows(stream, some)
    functions = leave_one_out(path, rows, a, y, [ridge]).functions
    return ridge, rows.modal_of(functions, torch.empty(0, dtype=statistics.dtype))


def _misfit(rest: ModalEquations, fold: ModalEquations, ridges: Tensor, start: Tensor) -> Float[Tensor, "blocks"]:
    """Σ_i |Y_i − F_i|² over a fold in each block, for the model of the rest; infinite where that has no solution."""
    nowhere = torch.isinf(ridges).all()
    coef = start.expand_as(fold.sides).to(fold.sides) if nowhere else rest.solve(ridges, start, allow_failures=True)
    gain = ((2 * fold.sides - fold.grams @ coef) * coef.conj()).real.sum((1, 2)) / fold.features
    return torch.nan_to_num((fold.energies - gain).clamp(min=0), nan=INF)


def _quotient(residual: Targets, gap: Float[Tensor, "blocks n"]) -> Targets:
    """r/(1 − h), infinite where 1 − h is zero."""
    return torch.where(gap[..., None] > 0, residual / gap[..., None], torch.full_like(residual, INF))
