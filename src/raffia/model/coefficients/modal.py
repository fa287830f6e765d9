"""A number for each feature and each mode of the outputs: waves on a torus, sines or cosines on a box, principal components on a mesh."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import tile_size, tiles
from raffia.model.coefficients.base import Chosen, Coefficients
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import (
    ONES,
    SAMPLES,
    ModalDual,
    ModalEquations,
    ModalLaw,
    ModalLeftOut,
    ModalNoise,
    ModalStream,
    Solution,
    Statistics,
    available_memory,
    modal_fold_ridges,
    modal_law,
    modal_left_out,
    modal_ridges,
    solved,
)
from raffia.spaces import Modes, interpolate, resample

DRAWS = 64
"""Draws of a function that are made together."""

LEAST = 1e-14  # of the scale of a block: the ridge of features that are few

RAISED = 4  # times that ridges are raised tenfold


class Modal(Coefficients):
    """F(a) = Σ_k ψ_k [ (1/m) Σ_j α_j(k) ⟨φ(a; θ_j), ψ_k⟩ + Σ_c β_c(k) ⟨a_c, ψ_k⟩ + γ(k) ].

    Coefficients are (1 + blocks, p, columns), p = m, the channels of the input and one, whose coefficients are m β_c(k) / gain_c and
    √m γ(k) / (ONES · size): a linear map and a mean function, both nearly free. The first block
    is the ordinary part α⁰ that the others are shrunk towards, zero where there is none. Features and modes are those of the training grid.
    """

    def stream(self, settings: Settings, frame: Frame, pairs: Prepared) -> ModalStream:
        """Features by their modes, as many samples at a time as memory allows and a product likes."""
        plain = settings.stream(pairs.inputs, pairs.grid, frame.values_at(pairs.inputs))
        space = settings.workspace(plain.theta.device)
        allowed = max(1, space.budget // (2 * int(settings.n_features) * plain.values_at(pairs.inputs).size))
        size = settings.batch_size or min(allowed, SAMPLES[plain.theta.device.type])
        return ModalStream(replace(plain, batch_size=size), *parts_of(frame))

    def form(self, settings: Settings, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The normal equations of every block; the features, where samples are fewer and memory holds them."""
        blocks, free = parts_of(frame)[0].count, available_memory(device)
        p = int(settings.n_features) + frame.input.channels + 1
        if expected is not None and expected < p and 32 * blocks * expected * (p + expected) <= free:
            return ModalDual
        need = 48 * blocks * p**2
        if need > free:
            raise RaffiaError(
                f"modal coefficients of {int(settings.n_features)} features in {blocks} modes need {need / 1e9:.1f} GB, and "
                f"{free / 1e9:.1f} GB are free: pass fewer n_features, points=…, or coefficients='ordinary'."
            )
        return ModalEquations

    def chosen(self, settings: Settings, statistics: Statistics, pairs: Prepared, errors: bool = True) -> Chosen:
        """By closed formulas for leaving out one function, in every block; the noise comes with them."""
        known, stream, measure = _modal(statistics), self.stream(settings, pairs.frame, pairs), pairs.frame.measure
        if settings.feature_map.few:
            ridges = _ridges(torch.cat([known.scales.new_tensor([math.inf]), LEAST * known.scales]), known)
        else:
            ridges = modal_ridges(known, stream, pairs.inputs, pairs.outputs, measure)
        if not errors:
            return Chosen(ridges, math.nan)
        left_out = modal_left_out(known, stream, pairs.inputs, pairs.outputs, ridges, measure)
        same = torch.equal(ridges, _ridges(ridges, known, sure=True))  # else the noise is estimated when error bars are wanted
        return Chosen(ridges, float(left_out.errors.mean()), left_out.noise if same else None, _solution(left_out.coef))

    def chosen_by_folds(self, settings: Settings, folds: Sequence[Statistics]) -> Chosen:
        """From the statistics of all folds but one, on that one."""
        return Chosen(*modal_fold_ridges(cast(Sequence[ModalEquations], folds)))

    def solve(self, settings: Settings, statistics: Statistics, ridge: Any) -> Solution:
        """Block by block; ridges that were found for other pairs are raised, where these need more."""
        known = _modal(statistics)
        ridges = _ridges(ridge, known)
        for _ in range(RAISED if torch.is_tensor(ridge) else 0):
            coef = solved(known, ridges, careless=True)
            failed = coef[1:].flatten(1).isnan().any(1)
            if not failed.any():
                return _solution(coef)
            ridges[1:] = torch.where(failed, 10 * ridges[1:], ridges[1:])
        return _solution(solved(known, ridges))

    def transferred(self, ridge: Any, before: Statistics, after: Statistics) -> Any:
        """Block by block, as shorter lengths make features larger in high modes alone."""
        old, new = _modal(before), _modal(after)
        return torch.cat([ridge[:1] * new.scale / old.scale, ridge[1:] * (new.scales / old.scales).to(ridge)])

    def complete(self, settings: Settings, frame: Frame, solution: Any) -> bool:
        """A block for each mode and one more, with rows for features, channels of the input and the mean function."""
        rows = int(settings.n_features) + settings.feature_map.domain.channels + 1
        columns = frame.output_nodes.size // frame.output_nodes.one_channel.size
        if frame.modes is None or frame.mode_sizes is None or frame.gains is None:
            return False
        sizes = frame.mode_sizes.shape == (frame.modes.count,) and frame.gains.shape == (settings.feature_map.domain.channels,)
        return sizes and solution.coef.shape == (1 + frame.modes.count, rows, columns)

    def combination(self, settings: Settings, frame: Frame, solution: Any, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """Features a tile at a time on the training grid, added up in its modes, and one transform back.

        Inputs on another grid are interpolated to it, and outputs from it.
        """
        theta, given, (modes, sizes, gains) = settings.theta(inputs), frame.input.grid_of(inputs), parts_of(frame)
        feature_map, nodes, m, columns = settings.features, modes.grid, int(settings.n_features), solution.coef.shape[2]
        dtype = torch.complex(theta[:0], theta[:0]).dtype if solution.coef.is_complex() else theta.dtype
        weights = (solution.coef[1:].to(theta.device, dtype) / m).permute(2, 1, 0).contiguous()  # (columns, p, modes)
        mean = ONES * math.sqrt(m) * sizes.to(theta) * weights[:, -1]
        prepared = feature_map.prepare(theta, given.with_channels(nodes))
        gained = gains.to(theta).reshape(-1, *[1] * len(nodes.shape))

        def combined(a: Tensor) -> Tensor:
            a = interpolate(a, given, nodes)
            size, features = tile_size(a), feature_map.seen(a)
            own = modes.analysis(gained * a.reshape(len(a), -1, *nodes.shape), nodes).transpose(0, 1)
            total = _products(own, weights[:, m:-1]) + mean
            for part, start in tiles(prepared, size):
                phi = modes.analysis(features(part).transpose(0, 1), nodes)
                total += _products(phi, weights[:, start : start + len(phi)])
            values = interpolate(modes.synthesis(total, nodes), nodes, given)
            return values[:, 0] if columns == 1 and not frame.output.has_components else values

        return combined

    def noise(self, settings: Settings, trained: Trained) -> ModalNoise:
        """From leaving out one training function at a time, with the ridges that error bars are computed with."""
        return self._left_out(settings, trained).noise

    def left_out(self, settings: Settings, trained: Trained) -> Tensor | None:
        """By closed formulas in every block."""
        if trained.pairs is None or trained.statistics is None:
            return None
        frame, (modes, _, _) = trained.frame, parts_of(trained.frame)
        errors = self._left_out(settings, trained, every=True).modal.permute(1, 2, 0)  # (n, columns, modes)
        return modes.synthesis(errors, modes.grid).reshape(len(errors), *frame.output_nodes.shape)

    def _left_out(self, settings: Settings, trained: Trained, every: bool = False) -> ModalLeftOut:
        assert trained.pairs is not None  # as whoever asks has checked
        assert trained.statistics is not None
        known, frame = _modal(trained.statistics), trained.frame
        stream = self.stream(settings, frame, Prepared(frame, *trained.pairs, frame.output_nodes))
        ridges = _ridges(trained.ridge, known, sure=True)
        return modal_left_out(known, stream, *trained.pairs, ridges, frame.measure, every)

    def law(self, settings: Settings, trained: Trained) -> ModalLaw:
        """Gaussian in every block."""
        assert trained.statistics is not None  # as whoever asks has checked
        known = _modal(trained.statistics)
        return modal_law(known, _ridges(trained.ridge, known, sure=True), trained.solution.coef, trained.noise)

    def variance(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor) -> Tensor:
        """Σ_k |ψ_k|² s_k² (1 + v_k), with v_k s_k² the variance of F in block k."""
        frame, modes, nodes = trained.frame, parts_of(trained.frame)[0], trained.frame.nodes_for(inputs)
        there, one = frame.output_nodes, nodes.one_channel
        inputs = interpolate(inputs, one, there)
        nothing = torch.zeros(len(inputs), *there.shape, dtype=inputs.dtype, device=inputs.device)
        stream = self.stream(settings, frame, Prepared(frame, inputs, nothing, there))
        powers = (law.variance(V).permute(1, 2, 0) for V, _ in stream.blocks(inputs, nothing))  # (n, columns, blocks)
        values = torch.cat([modes.density(power, modes.grid).to(inputs.device) for power in powers])
        if one != modes.grid:
            values = resample(values, modes.grid, one).clamp(min=0)
        return values.reshape(len(inputs), *nodes.shape)

    def draws(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor, count: int, seed: int) -> Tensor:
        """With coefficients from their law."""
        frame, modes, generator = trained.frame, parts_of(trained.frame)[0], torch.Generator().manual_seed(seed)
        fields = (count, *trained.solution.coef.shape[1:], modes.grid.size)
        white = modes.grid.unembed(torch.randn(fields, dtype=torch.float64, generator=generator))
        z = modes.analysis(white, modes.grid).movedim(-1, 1)  # conjugate for conjugate modes
        coefs = torch.cat([trained.solution.coef[:1].expand(count, 1, -1, -1), law.moved(z.to(trained.solution.coef))], dim=1)
        parts = []
        for some in coefs.split(DRAWS):  # as so many columns, in one pass over the features
            columns = some.permute(1, 2, 0, 3).flatten(2)
            values = self.combination(settings, frame, replace(trained.solution, coef=columns), inputs)(inputs)
            parts.append(values.reshape(len(inputs), len(some), *frame.nodes_for(inputs).shape).transpose(0, 1))
        return torch.cat(parts)


def parts_of(frame: Frame) -> tuple[Modes, Tensor, Tensor]:
    """The modes of a frame, the sizes of features in them, and what inputs are multiplied by: it has them where coefficients are modal."""
    return cast(tuple[Modes, Tensor, Tensor], (frame.modes, frame.mode_sizes, frame.gains))


def _products(phi: Tensor, weights: Tensor) -> Tensor:
    """Σ_j weights_cj φ_j, mode by mode: φ is (features, n, modes), weights (columns, features, modes), the sum (n, columns, modes)."""
    return torch.stack([(phi * column[:, None]).sum(0) for column in weights], dim=1)


def _solution(coef: Tensor) -> Solution:
    return Solution(coef, 0.0, coef.shape[0] * coef.shape[1], float("nan"), 0, "blocks")


def _modal(statistics: Statistics) -> ModalEquations | ModalDual:
    return cast(ModalEquations | ModalDual, statistics)


def _ridges(ridge: Any, statistics: ModalEquations | ModalDual, sure: bool = False) -> Tensor:
    """(λ₀, λ₁, …): a number serves all blocks, without an ordinary part, and is never less than keeps them positive definite.

    Those of every block were found for such equations: they may be as small as rounding is, where a failure would be seen (not `sure`).
    """
    blocks, least = len(statistics.twice), statistics.start_shape[0] * torch.finfo(torch.float64).eps * statistics.scales
    if not torch.is_tensor(ridge):
        return torch.cat([least.new_tensor([float("inf")]), least.clamp(min=float(ridge))])
    if len(ridge) != 1 + blocks:
        raise RaffiaError(f"ridge must have 1 + {blocks} numbers, for the ordinary part and each mode; got {len(ridge)}.")
    return torch.cat(
        [ridge[:1].to(least), torch.maximum(ridge[1:].to(least), least if sure else least / statistics.start_shape[0])]
    )
