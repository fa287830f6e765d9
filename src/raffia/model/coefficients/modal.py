"""Modal coefficients: one for each feature and each mode of the outputs.

Modes are waves on a torus, sines or cosines on a box, and principal components on a mesh.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import tile_size, tiles
from raffia.model.coefficients.base import Coefficients, RidgeChoice
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.trained import Trained
from raffia.regression import (
    DEFAULTS,
    ModalDual,
    ModalEquations,
    ModalLeftOut,
    ModalNoise,
    ModalStream,
    Ridge,
    Solution,
    Statistics,
    available_memory,
    factorised,
    modal_fold_ridges,
    modal_left_out,
    modal_ridges,
)
from raffia.regression.modal_stream import ranges, squared
from raffia.spaces import Modes, interpolate, resample

RAISED = 4
"""How often a ridge is raised tenfold where its block has no solution."""
LEAST = 1e-12
"""The ridge of features that are few, in units of the scale of a block."""


class Modal(Coefficients):
    """F(a) = Σ_k ψ_k [ (1/m) Σ_j α_j(k) ⟨φ(a; θ_j), ψ_k⟩ + Σ_c β_c(k) ⟨a_c, ψ_k⟩ + γ(k) ].

    The second term is a linear map of the c-th channel of the input, the third a mean function; both are almost unpenalised.
    Coefficients have the shape (1 + blocks, p, columns). The p rows of a block are the m random features, the channels of the input with
    m β_c(k) / gain_c, and the constant with √m γ(k) / (`ones` · size). The first block is α⁰, the ordinary coefficients towards which the
    others are shrunk; it is zero if there are none. Features and modes are those of the training grid.
    """

    def stream(self, pairs: Prepared) -> ModalStream:
        """Features in the modes, as many samples at a time as memory allows and fast products need."""
        plain = self.settings.stream(pairs.inputs, pairs.grid, pairs.frame.values_at(pairs.inputs))
        space = self.settings.workspace(plain.theta.device)
        allowed = max(1, space.budget // (2 * int(self.settings.n_features) * plain.values_at(pairs.inputs).size))
        size = self.settings.batch_size or min(allowed, DEFAULTS.product_samples[plain.theta.device.type])
        return ModalStream(replace(plain, batch_size=size), *parts_of(pairs.frame))

    def form(self, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The normal equations of every block, or the features themselves if there are fewer samples and they fit into memory."""
        blocks, free = parts_of(frame)[0].count, available_memory(device)
        p = int(self.settings.n_features) + frame.input.channels + 1
        if expected is not None and expected < p and 32 * blocks * expected * (p + expected) <= free:
            return ModalDual
        need = 48 * blocks * p**2
        if need > free:
            raise RaffiaError(
                f"modal coefficients of {int(self.settings.n_features)} features in {blocks} modes need {need / 1e9:.1f} GB, and "
                f"{free / 1e9:.1f} GB are free: pass fewer n_features, points=…, or coefficients='ordinary'."
            )
        return ModalEquations

    def choose_ridge(self, statistics: Any, pairs: Prepared, errors: bool = True) -> RidgeChoice:
        """By closed formulas for leaving out one function, in every block; the noise level is a by-product."""
        stream, measure = self.stream(pairs), pairs.frame.measure
        if self.settings.feature_map.few:
            ridges = _ridges(torch.cat([statistics.scales.new_tensor([math.inf]), LEAST * statistics.scales]), statistics)
        else:
            ridges = modal_ridges(statistics, stream, pairs.inputs, pairs.outputs, measure)
        if not errors:
            return RidgeChoice(ridges, math.nan)
        left_out = modal_left_out(statistics, stream, pairs.inputs, pairs.outputs, ridges, measure)
        same = torch.equal(
            ridges, _ridges(ridges, statistics, sure=True)
        )  # else the noise is estimated when error bars are wanted
        return RidgeChoice(ridges, float(left_out.errors.mean()), left_out.noise if same else None, _solution(left_out.coef))

    def choose_ridge_by_folds(self, folds: Sequence[Statistics]) -> RidgeChoice:
        """Train on all folds but one, and test on that one, using statistics alone."""
        return RidgeChoice(*modal_fold_ridges(cast(Sequence[ModalEquations], folds)))

    def solve(self, statistics: Any, ridge: Ridge) -> Solution:
        """Block by block. Ridges that were chosen for other pairs are raised where a block has no solution."""
        ridges = _ridges(ridge, statistics)
        for _ in range(RAISED if torch.is_tensor(ridge) else 0):
            coef = statistics.solved(ridges, allow_failures=True)
            failed = coef[1:].flatten(1).isnan().any(1)
            if not failed.any():
                return _solution(coef)
            ridges[1:] = torch.where(failed, 10 * ridges[1:], ridges[1:])
        return _solution(statistics.solved(ridges))

    def transferred(self, ridge: Ridge, before: Any, after: Any) -> Ridge:
        """Block by block: features with shorter length scales are larger in high modes only."""
        ridge = torch.as_tensor(ridge)
        return torch.cat([ridge[:1] * after.scale / before.scale, ridge[1:] * (after.scales / before.scales).to(ridge)])

    def complete(self, frame: Frame, solution: Solution) -> bool:
        """One block more than modes, with rows for features, channels of the input and the constant."""
        rows = int(self.settings.n_features) + self.settings.feature_map.domain.channels + 1
        columns = frame.output_nodes.size // frame.output_nodes.one_channel.size
        if frame.modes is None or frame.mode_sizes is None or frame.gains is None:
            return False
        sizes = frame.mode_sizes.shape == (frame.modes.count,) and frame.gains.shape == (
            self.settings.feature_map.domain.channels,
        )
        return sizes and solution.coef.shape == (1 + frame.modes.count, rows, columns)

    def combination(self, frame: Frame, solution: Solution, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """Sum features in the modes of the training grid, a tile at a time, and transform back once.

        Inputs on another grid are interpolated to the training grid, and outputs from it.
        """
        theta, given, (modes, sizes, gains) = self.settings.theta(inputs), frame.input.grid_of(inputs), parts_of(frame)
        feature_map, nodes, m, columns = (
            self.settings.features,
            modes.grid,
            int(self.settings.n_features),
            solution.coef.shape[2],
        )
        dtype = torch.complex(theta[:0], theta[:0]).dtype if solution.coef.is_complex() else theta.dtype
        weights = (solution.coef[1:].to(theta.device, dtype) / m).permute(2, 1, 0).contiguous()  # (columns, p, modes)
        mean = DEFAULTS.ones * math.sqrt(m) * sizes.to(theta) * weights[:, -1]
        prepared = feature_map.prepare(theta, given.with_channels(nodes))
        gained = gains.to(theta).reshape(-1, *[1] * len(nodes.shape))

        def combined(a: Tensor) -> Tensor:
            a = interpolate(a, given, nodes)
            size, features = tile_size(a), feature_map.precompute(a)
            own = modes.analysis(gained * a.reshape(len(a), -1, *nodes.shape), nodes).transpose(0, 1)
            total = _products(own, weights[:, m:-1]) + mean
            for part, start in tiles(prepared, size):
                phi = modes.analysis(features(part).transpose(0, 1), nodes)
                total += _products(phi, weights[:, start : start + len(phi)])
            values = interpolate(modes.synthesis(total, nodes), nodes, given)
            return values[:, 0] if columns == 1 and not frame.output.has_components else values

        return combined

    def noise(self, trained: Trained) -> ModalNoise:
        """From leaving out one training function at a time, with the ridges that error bars are computed with."""
        return self._left_out(trained).noise

    def left_out(self, trained: Trained) -> Tensor | None:
        """By closed formulas in every block."""
        if trained.pairs is None or trained.statistics is None:
            return None
        frame, (modes, _, _) = trained.frame, parts_of(trained.frame)
        errors = self._left_out(trained, every=True).modal.permute(1, 2, 0)  # (n, columns, modes)
        return modes.synthesis(errors, modes.grid).reshape(len(errors), *frame.output_nodes.shape)

    def _left_out(self, trained: Trained, every: bool = False) -> ModalLeftOut:
        statistics, pairs = trained.known_statistics(), trained.known_pairs()
        ridges = _ridges(trained.ridge, statistics, sure=True)
        measure = trained.frame.measure
        return modal_left_out(statistics, self.stream(pairs), pairs.inputs, pairs.outputs, ridges, measure, every)

    def variance(self, trained: Trained) -> Callable[[Tensor], Tensor]:
        """Return a function that maps inputs to the pointwise variance of y given a, noise included, in training units.

        It is Σ_k |ψ_k|² s_k² (1 + v(k)ᴴ (G_k + λ_k)⁻¹ v(k) / m), where s_k² is the noise variance of block k and v(k) its features.
        The coefficients of a block with an infinite ridge are not random, so such a block contributes only |ψ_k|² s_k².
        """
        frame, modes, known = trained.frame, parts_of(trained.frame)[0], trained.known_statistics()
        ridges, grams = _ridges(trained.ridge, known, sure=True)[1:].to(known.twice), known.primal.grams
        factors = torch.cat([factorised(grams[part], ridges[part])[0] for part in ranges(grams)])
        there, noise, m = frame.output_nodes, trained.noise.variance, known.features

        def powers(V: Tensor) -> Tensor:
            """The variance of the modes of new outputs: (n, columns, blocks)."""
            halves = (torch.linalg.solve_triangular(factors[part].to(V), V[part], upper=False) for part in ranges(factors))
            squares = torch.cat([squared(half).sum(1) for half in halves])
            moves = torch.where(torch.isinf(ridges)[:, None].to(V.device), 0.0, squares / m)
            return ((1 + moves)[..., None] * noise[:, None].to(V.device)).permute(1, 2, 0)

        def variance(inputs: Tensor) -> Tensor:
            nodes = frame.nodes_for(inputs)
            one, inputs = nodes.one_channel, interpolate(inputs, nodes.one_channel, there)
            nothing = torch.zeros(len(inputs), *there.shape, dtype=inputs.dtype, device=inputs.device)
            blocks = self.stream(Prepared(frame, inputs, nothing, there)).blocks(inputs, nothing)
            values = torch.cat([modes.density(powers(V), modes.grid).to(inputs.device) for V, _ in blocks])
            if one != modes.grid:
                values = resample(values, modes.grid, one).clamp(min=0)
            return values.reshape(len(inputs), *nodes.shape)

        return variance


def parts_of(frame: Frame) -> tuple[Modes, Tensor, Tensor]:
    """The modes of a frame with modal coefficients, the sizes of features in them, and the gains of the input channels."""
    return cast(tuple[Modes, Tensor, Tensor], (frame.modes, frame.mode_sizes, frame.gains))


def _products(phi: Tensor, weights: Tensor) -> Tensor:
    """Σ_j weights_cj φ_j, mode by mode: φ is (features, n, modes), weights (columns, features, modes), the sum (n, columns, modes)."""
    return torch.stack([(phi * column[:, None]).sum(0) for column in weights], dim=1)


def _solution(coef: Tensor) -> Solution:
    return Solution(coef, 0.0, coef.shape[0] * coef.shape[1], condition=math.nan, solver="blocks")


def _ridges(ridge: Ridge, statistics: ModalEquations | ModalDual, sure: bool = False) -> Tensor:
    """Return the ridges (λ₀, λ₁, …), with λ₀ = ∞ if `ridge` is one number for all blocks.

    Small ridges are raised, so that the matrices of all blocks are positive definite. The bound is smaller for a vector whose failures
    are detected later (`sure` is False).
    """
    blocks, least = len(statistics.twice), statistics.start_shape[0] * torch.finfo(torch.float64).eps * statistics.scales
    if not torch.is_tensor(ridge):
        return torch.cat([least.new_tensor([float("inf")]), least.clamp(min=float(ridge))])
    if len(ridge) != 1 + blocks:
        raise RaffiaError(f"ridge must have 1 + {blocks} numbers, for the ordinary part and each mode; got {len(ridge)}.")
    return torch.cat(
        [ridge[:1].to(least), torch.maximum(ridge[1:].to(least), least if sure else least / statistics.start_shape[0])]
    )
