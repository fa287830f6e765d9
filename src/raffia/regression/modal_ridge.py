"""Ridges of modal coefficients by leaving out one function at a time: one for each block, and one for the ordinary coefficients.

The blocks are separate problems, so the error of leaving out function i is one number in each: e_i(k) = r_i(k) / (1 − h_i(k)). If
coefficients are shrunk towards ordinary ones α⁰, with training errors r⁰ and leave-one-out errors e⁰, then α⁰ is trained without i too:

    e_i(k) = e⁰_i(k) − r⁰_i(k) + r_i(k) / (1 − h_i(k)).

Ridges are a vector (λ₀, λ₁, …, λ_B): λ₀ of the ordinary part, infinite if there is none, then one for each block.

`search_ridges` tries a few powers of ten, then takes the vertex of a parabola through the best and its neighbours. It compares two
variants of a model on the way. It keeps the better one; its squared errors add over the blocks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Inexact, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure
from raffia.regression.leave_one_out import fold_ridge, leave_one_out
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_stream import ModalStream, RealRows, Sampled, Targets, squared
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.ridge_path import best_ridge

INF = float("inf")

Squares = Float[Tensor, "blocks n variants"]
"""|e_i(k)|² of each sample, relative to its size."""
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
    few = torch.linspace(0, len(a) - 1, min(len(a), DEFAULTS.scanned_samples)).long()
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
    most = len(a) if every else DEFAULTS.scanned_samples if stream.stream.feature_map.expensive else DEFAULTS.left_out_samples
    everyone = torch.linspace(0, len(a) - 1, min(len(a), most)).round().long()
    for rows in everyone.split(max(1, DEFAULTS.left_out_bytes // (16 * len(own) * len(start)))):
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
    if statistics.features > DEFAULTS.most_ordinary:
        return INF, some.Y
    path = statistics.ordinary_path
    few = torch.linspace(0, len(a) - 1, min(len(a), DEFAULTS.ordinary_samples)).long()

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        held = RealRows(stream, some.few(few))
        return leave_one_out(path, held, a[few.to(a.device)], y[few.to(y.device)], ridges, measure=measure).errors

    ridge, _ = best_ridge(errors, float(path.s[-1]), range(-16, 1, 2))
    rows = RealRows(stream, some)
    functions = leave_one_out(path, rows, a, y, [ridge]).functions
    return ridge, rows.modal_of(functions, torch.empty(0, dtype=statistics.dtype))


def _misfit(rest: ModalEquations, fold: ModalEquations, ridges: Tensor, start: Tensor) -> Float[Tensor, "blocks"]:
    """Return Σ_i |Y_i − F_i|² over a fold for each block, with the model trained on the rest; infinite if that has no solution."""
    nowhere = torch.isinf(ridges).all()
    coef = start.expand_as(fold.sides).to(fold.sides) if nowhere else rest.solve(ridges, start, allow_failures=True)
    gain = ((2 * fold.sides - fold.grams @ coef) * coef.conj()).real.sum((1, 2)) / fold.features
    return torch.nan_to_num((fold.energies - gain).clamp(min=0), nan=INF)


def _quotient(residual: Targets, gap: Float[Tensor, "blocks n"]) -> Targets:
    """r/(1 − h), infinite where 1 − h is zero."""
    return torch.where(gap[..., None] > 0, residual / gap[..., None], torch.full_like(residual, INF))


@dataclass(frozen=True, eq=False)
class _Tried:
    """Exponents that were tried, and the squared errors they gave, for every block."""

    weights: Float[Tensor, "blocks"]
    powers: list[Float[Tensor, "blocks"]] = field(default_factory=list)
    squares: list[Squares] = field(default_factory=list)

    def add(self, power: Tensor, squares: Squares) -> None:
        self.powers.append(power)
        self.squares.append(torch.nan_to_num(squares, nan=INF))

    def sums(self, variant: int) -> Float[Tensor, "tried blocks"]:
        return torch.stack([squares[:, :, variant].sum(1) for squares in self.squares])

    def best(self, variant: int) -> Int[Tensor, "blocks"]:
        """The index of the best exponent for each block; of equal ones the largest."""
        sums, powers = self.sums(variant), torch.stack(self.powers)
        return torch.where(sums == sums.amin(0), powers, -INF).argmax(0)

    def power(self, variant: int) -> Float[Tensor, "blocks"]:
        """The best exponent of each block."""
        return torch.stack(self.powers).gather(0, self.best(variant)[None])[0]

    def error(self, variant: int) -> float:
        """The mean over samples of (Σ_k |e_i(k)|²)^½, with the best of each block."""
        index = self.best(variant)[None, :, None].expand(1, -1, self.squares[0].shape[1])
        kept = torch.stack([squares[:, :, variant] for squares in self.squares]).gather(0, index)[0]
        return float((self.weights[:, None] * kept).sum(0).sqrt().mean())

    def better_variant(self) -> int:
        errors = [self.error(variant) for variant in range(self.squares[0].shape[2])]
        finite = [error if error == error else INF for error in errors]
        if min(finite) == INF:
            raise RaffiaError("no ridge has a finite error on the left-out samples: check the data, or pass ridge as a number.")
        best = finite.index(min(finite))
        spoilt = self.negligible & (self.sums(best).amin(0) > self.energies)
        return 0 if best and bool(spoilt.any()) and finite[0] <= DEFAULTS.variant_tolerance * finite[best] else best

    @property
    def energies(self) -> Float[Tensor, "blocks"]:
        """Σ_i |Y_i|² of each block: the first ridge is infinite, and variant 0 has no ordinary part, so its errors are the outputs."""
        return self.sums(0)[0]

    @property
    def negligible(self) -> Bool[Tensor, "blocks"]:
        """Blocks with so little energy that it may be rounding. A model applied again and again could amplify it."""
        return self.energies < DEFAULTS.faint * (self.weights * self.energies).sum() / self.weights.sum()

    def vertex(self, variant: int) -> Float[Tensor, "blocks"]:
        """The power at the vertex of the parabola through the best and its neighbours, on logarithmic scales, or infinite."""
        powers, order = torch.stack(self.powers).sort(0)
        logs = self.sums(variant).clamp(min=torch.finfo(powers.dtype).tiny).log().gather(0, order)
        place = (order == self.best(variant)).to(torch.int).argmax(0)
        finite = torch.isfinite(powers).sum(0)
        middle = torch.minimum(place.clamp(min=1), finite - 2)
        (x0, f0), (x1, f1), (x2, f2) = [[p.gather(0, (middle + i)[None])[0] for p in (powers, logs)] for i in (-1, 0, 1)]
        up, down = (x1 - x0) * (f1 - f2), (x1 - x2) * (f1 - f0)
        move = ((x1 - x0) * up - (x1 - x2) * down) / (2 * (up - down))
        inside = (place == middle) & torch.isfinite(move)
        chosen = powers.gather(0, place[None])[0]
        return torch.where(inside, torch.minimum(torch.maximum(chosen - move, x0), x2), chosen)


def search_ridges(
    scales: Float[Tensor, "blocks"],
    weights: Float[Tensor, "blocks"],
    squares: Callable[[Float[Tensor, "some"], Int[Tensor, "some"] | None], Squares],
) -> tuple[int, Float[Tensor, "blocks"], float]:
    """Choose a ridge for each block by leave-one-out errors; return the better variant, its ridges and its error.

    Variant 0 shrinks coefficients towards zero, variant 1 towards the ordinary ones. Powers of ten times the `scales` are tried, first
    the same for all blocks, then beside the best of each. `weights` are 2 for blocks that stand for two conjugate modes, else 1.
    `squares` maps ridges and the indices of blocks (None for all) to squared errors. Negligible blocks that variant 0 does not explain
    get an infinite ridge, which is a zero prediction.
    """
    tried, everywhere = _Tried(weights), torch.ones_like(scales)
    (lowest, _, highest), (down, up) = DEFAULTS.coarse, DEFAULTS.around
    for power in (INF, *DEFAULTS.coarse):
        tried.add(everywhere * power, squares(scales * 10.0**power, None))
    variant = tried.better_variant()
    base = tried.power(variant).clamp(max=highest)
    for step in (down, up):
        tried.add(base + step, squares(scales * 10.0 ** (base + step), None))
    variant = tried.better_variant()
    best = tried.power(variant)
    for power, wanted in ((DEFAULTS.small, best <= lowest + down), (DEFAULTS.large, best >= highest + up)):
        if wanted.any():
            some = wanted.nonzero()[:, 0]
            more = torch.full_like(tried.squares[0], INF)  # infinite elsewhere, so never chosen
            more[some] = squares(scales[some] * 10.0**power, some)
            tried.add(everywhere * power, more)
    unexplained = tried.negligible & (tried.sums(variant).amin(0) > (1 - DEFAULTS.explained) * tried.energies) & (variant == 0)
    return variant, torch.where(unexplained, INF, scales * 10.0 ** tried.vertex(variant)), tried.error(variant)
