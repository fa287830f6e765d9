"""Ridges for modal coefficients: one for every block, and one for what all blocks are drawn to, by leaving out one function at a time.

The blocks are separate problems, so leaving out function i is a number for each: e_i(k) = r_i(k) / (1 − h_i(k)). Where coefficients are
drawn to ordinary ones α⁰, whose errors in sample and left out are r⁰ and e⁰, the part of α⁰ is left out too:

    e_i(k) = e⁰_i(k) − r⁰_i(k) + r_i(k) / (1 − h_i(k)).

Ridges are a vector (λ₀, λ₁, …, λ_B): λ₀ of the ordinary part, infinite where there is none, then one a block.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure
from raffia.regression.leave_one_out import leave_one_out
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_stream import ModalStream, RealRows, Targets
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.ridge_choice import SCANNED_SAMPLES, best_ridge, fold_ridge
from raffia.regression.ridge_path import RidgePath

ModalStatistics = ModalEquations | ModalDual
DECADES = tuple(range(-14, 1, 2))
"""Powers of ten of a block's trace, where ridges are looked for; then the vertex of a parabola."""
INF = float("inf")


@dataclass(frozen=True, eq=False)
class ModalNoise:
    """s_k², the variance of what the model cannot say in each block, E|⟨y − F, ψ_k⟩|²; a column for each channel."""

    variance: Float[Tensor, "blocks columns"]


@dataclass(frozen=True, eq=False)
class ModalLeftOut:
    """What leaving out one function at a time says."""

    errors: Float[Tensor, "n"]
    noise: ModalNoise


def ordinary_equations(statistics: ModalStatistics) -> NormalEquations:
    """Those of ordinary coefficients, of the features alone: the sum of all blocks."""
    m = statistics.features
    return NormalEquations(statistics.gram[:m, :m], statistics.rhs[:m], statistics.energy, statistics.n_samples)


def ordinary_part(statistics: ModalStatistics, ridge: float) -> Float[Tensor, "p columns"]:
    """α⁰, with zeros for the inputs; zero for an infinite ridge."""
    if ridge == INF:
        return torch.zeros_like(statistics.rhs)
    return _padded(RidgePath(ordinary_equations(statistics)).coef(ridge), statistics)


def solved(statistics: ModalStatistics, ridges: Float[Tensor, "ridges"]) -> Tensor:
    """α⁰ and after it α(k) of every block: (1 + blocks, p, columns)."""
    start = ordinary_part(statistics, float(ridges[0]))
    coef = statistics.solve(ridges[1:].to(statistics.twice), start)
    return torch.cat([start.to(coef)[None], coef])


def modal_ridges(
    statistics: ModalStatistics, stream: ModalStream, a: Tensor, y: Tensor, measure: ErrorMeasure
) -> Float[Tensor, "ridges"]:
    """The ridges of the least error on some of the samples, left out in turn; with an ordinary part, or without if that is better."""
    few = torch.linspace(0, len(a) - 1, min(len(a), SCANNED_SAMPLES)).long()
    some_a, some_y = (f[few.to(f.device)] for f in (a, y))
    some, sizes = statistics.sampled(stream, a, y, few), measure.sizes(some_y, stream.stream.grid).to(statistics.twice)
    rows, path = RealRows(stream), RidgePath(ordinary_equations(statistics))

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        return leave_one_out(path, rows, some_a, some_y, ridges, measure=measure).errors

    towards, _ = best_ridge(errors, float(path.s[-1]))
    ordinary = _padded(path.coef(towards), statistics)
    outside = rows.modal_of(leave_one_out(path, rows, some_a, some_y, [towards]).functions, some.Y)
    starts = torch.cat([torch.zeros_like(ordinary), ordinary], dim=1)
    apart = torch.cat(
        [torch.zeros_like(outside), outside - (some.Y - some.V.mH @ ordinary.to(some.V) / statistics.features)], dim=2
    )
    scales, columns = statistics.scales, some.Y.shape[2]
    tried = torch.stack([scales * 10.0**k for k in DECADES] + [torch.full_like(scales, INF)])
    wrong, least, kept = [], None, None
    for ridges in tried:
        e = _quotient(*statistics.left_out(ridges, starts, some)) + apart
        squares = (e.abs().square() / sizes[:, None] ** 2).sum(1).reshape(len(e), 2, columns).sum(2)
        wrong.append(squares)
        better = squares <= (INF if least is None else least)
        least = squares if least is None else torch.where(better, squares, least)
        kept = e if kept is None else torch.where(better.repeat_interleave(columns, 1)[:, None], e, kept)
    assert kept is not None
    weighted = (statistics.twice[:, None, None] * kept.abs().square()).reshape(*kept.shape[:2], 2, columns).sum((0, 3)).sqrt()
    means = (weighted / sizes[:, None]).mean(0)
    if not torch.isfinite(means).any():
        raise RaffiaError("no ridge has a finite error on what was left out: check the data, or pass ridge as a number.")
    which = int(torch.nan_to_num(means, nan=INF).argmin())
    return torch.cat([scales.new_tensor([towards if which else INF]), _vertex(torch.stack(wrong)[:, :, which], tried)])


def modal_left_out(
    statistics: ModalStatistics, stream: ModalStream, a: Tensor, y: Tensor, ridges: Tensor, measure: ErrorMeasure
) -> ModalLeftOut:
    """Errors of leaving out each sample in turn, and the noise that they tell of: mean |e_i(k)|² / (1 + h_i/(1 − h_i))."""
    everything = torch.arange(len(a))
    some, towards = statistics.sampled(stream, a, y, everything), float(ridges[0])
    start = ordinary_part(statistics, towards)
    residual, gap = statistics.left_out(ridges[1:].to(statistics.twice), start, some)
    e = _quotient(residual, gap)
    if towards != INF:
        rows, path = RealRows(stream), RidgePath(ordinary_equations(statistics))
        outside = rows.modal_of(leave_one_out(path, rows, a, y, [towards]).functions, some.Y)
        e = e + outside - (some.Y - some.V.mH @ start.to(some.V) / statistics.features)
    sizes = measure.sizes(y, stream.stream.grid).to(statistics.twice)
    errors = (statistics.twice[:, None, None] * e.abs().square()).sum((0, 2)).sqrt() / sizes
    return ModalLeftOut(errors, ModalNoise((gap[..., None] * e.abs().square()).mean(1)))  # 1/(1 + h/(1 − h)) = 1 − h


def modal_fold_ridges(folds: Sequence[ModalEquations]) -> tuple[Float[Tensor, "ridges"], float]:
    """The ridges of the least k-fold error, and that error, from the statistics of the folds alone."""
    towards, _ = fold_ridge([ordinary_equations(fold) for fold in folds])
    total = sum(folds[1:], start=folds[0])
    parts = [(total - fold, fold) for fold in folds]
    tried = torch.stack([total.scales * 10.0**k for k in DECADES] + [torch.full_like(total.scales, INF)])
    errors, found = [], []
    for ridge in (INF, towards):
        starts = [ordinary_part(rest, ridge) for rest, _ in parts]
        wrong = torch.stack(
            [
                sum(
                    (_misfit(rest, fold, ridges, start) for (rest, fold), start in zip(parts, starts, strict=True)),
                    start=total.twice * 0,
                )
                for ridges in tried
            ]
        )
        errors.append(float((total.twice * wrong.amin(0)).sum()))
        found.append(torch.cat([total.twice.new_tensor([ridge]), _vertex(wrong, tried)]))
    which = int(errors[1] < errors[0])
    outside = max(0.0, float(total.energy - (total.twice * total.energies).sum()))
    return found[which], math.sqrt((errors[which] + outside) / float(total.energy))


def _misfit(rest: ModalEquations, fold: ModalEquations, ridges: Tensor, start: Tensor) -> Float[Tensor, "blocks"]:
    """Σ_i |Y_i − F_i|² in each block, over a fold, by what the rest gives; infinite where that has no solution."""
    try:
        coef = rest.solve(ridges, start)
    except RaffiaError:
        return torch.full_like(ridges, INF)
    gain = ((2 * fold.sides - fold.grams @ coef) * coef.conj()).real.sum((1, 2)) / fold.features
    return (fold.energies - gain).clamp(min=0)


def _quotient(residual: Targets, gap: Float[Tensor, "blocks n"]) -> Targets:
    """r/(1 − h), infinite where the gap was lost."""
    return torch.where(gap[..., None] > 0, residual / gap[..., None], torch.full_like(residual, INF))


def _vertex(wrong: Float[Tensor, "ridges blocks"], tried: Float[Tensor, "ridges blocks"]) -> Float[Tensor, "blocks"]:
    """For each block the ridge of the least error, the largest of equals, moved to the vertex of the parabola through its neighbours."""
    wrong = torch.nan_to_num(wrong, nan=INF)
    best = len(wrong) - 1 - wrong.flip(0).argmin(0)
    inner = best.clamp(1, len(DECADES) - 2)
    logs = [
        torch.gather(wrong, 0, (inner + step)[None])[0].clamp(min=torch.finfo(wrong.dtype).tiny).log() for step in (-1, 0, 1)
    ]
    bend = logs[0] - 2 * logs[1] + logs[2]
    move = torch.where((bend > 0) & torch.isfinite(bend) & (best == inner), (logs[0] - logs[2]) / (2 * bend), 0.0)
    chosen = torch.gather(tried, 0, best[None])[0]
    return torch.where(
        torch.isinf(chosen), chosen, chosen * 10.0 ** (move.nan_to_num(0.0).clamp(-1, 1) * (DECADES[1] - DECADES[0]))
    )


def _padded(coef: Float[Tensor, "m columns"], statistics: ModalStatistics) -> Float[Tensor, "p columns"]:
    start = torch.zeros_like(statistics.rhs)
    start[: len(coef)] = coef
    return start
