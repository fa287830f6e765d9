"""Features and outputs expanded in the modes of the outputs, a batch of samples at a time: the data of modal coefficients.

With orthonormal modes (ψ_k) of the outputs, the features of block k are the numbers ⟨φ_j(a), ψ_k⟩. Two kinds of further features follow:

* ⟨a_c, ψ_k⟩ for each channel of the input, scaled to be `gain` times as large as the random features. A ridge penalises its
  coefficient gain² times less than the others.
* a constant, the same for every sample, which gives a mean function. It is `ones` √m times as large as other features of its block.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.regression.feature_stream import FeatureStream
from raffia.regression.regression_defaults import DEFAULTS
from raffia.spaces import Modes, Nodes


def ranges(matrices: Inexact[Tensor, "blocks p p"]) -> Iterator[slice]:
    """Return slices that divide the blocks into parts, each small enough for memory with a few copies of it."""
    size = max(1, DEFAULTS.factorised_bytes[matrices.device.type] // max(1, matrices[0].nbytes))
    return (slice(start, start + size) for start in range(0, len(matrices), size))


def squared(z: Inexact[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """|z|², without a square root on the way."""
    return z.real.square() + z.imag.square() if z.is_complex() else z.square()


Features = Inexact[Tensor, "blocks p n"]
Targets = Inexact[Tensor, "blocks n columns"]


class Sampled(NamedTuple):
    """A batch of samples: features V, modes of the outputs Y, and the indices of the samples."""

    V: Features
    Y: Targets
    rows: Int[Tensor, "n"]

    def at(self, blocks: Int[Tensor, "some"]) -> "Sampled":
        """Some of the blocks."""
        return Sampled(self.V[blocks], self.Y[blocks], self.rows)

    def few(self, which: Int[Tensor, "some"]) -> "Sampled":
        """Some of the samples."""
        return Sampled(self.V[:, :, which.to(self.V.device)], self.Y[:, which.to(self.Y.device)], self.rows[which])


@dataclass(frozen=True, eq=False)
class ModalStream:
    """The features of `stream`, expanded in modes."""

    stream: FeatureStream
    modes: Modes
    sizes: Float[Tensor, "blocks"]
    """The typical size of the features in each block."""
    gains: Float[Tensor, "channels"]
    """The factor of each channel of the inputs."""

    @property
    def n_features(self) -> int:
        """m."""
        return len(self.stream.theta)

    @property
    def size(self) -> int:
        """p, the number of coefficients of a block: the features, the channels of the input, and the constant."""
        return self.n_features + int(self.stream.feature_map.domain.channels) + 1

    @property
    def twice(self) -> Float[Tensor, "blocks"]:
        """The number of modes of each block: 2 for a conjugate pair."""
        return self.modes.twice(self.modes.grid).to(self.stream.theta)

    def energy(self, y: Tensor) -> Float[Tensor, ""]:
        """‖y‖² of some outputs."""
        return self.stream.grid.embed(y).square().sum().to(self.stream.theta.device)

    def blocks(self, a: Tensor, y: Tensor) -> Iterator[tuple[Features, Targets]]:
        """(V, Y) of each batch. V_k,ji is the conjugate of feature j of sample i, so F = Vᴴα/m; Y_k,i is ⟨y_i, ψ_k⟩."""
        nodes, m = self.stream.values_at(a), self.n_features
        fewest = 1 if self.stream.feature_map.expensive else DEFAULTS.least_tile_samples
        at_once = max(fewest, self.stream.tile // (m * nodes.size * (DEFAULTS.least_tile_samples // fewest)))
        for tiled, inputs, outputs in self.stream.tiled(a, y, at_once):
            V: Tensor | None = None
            for phi, start, first in tiled:
                part = self.modes.analysis(phi.transpose(0, 1), nodes)
                V = part.new_empty(part.shape[-1], self.size, len(inputs)) if V is None else V
                V[:, start : start + len(part), first : first + len(phi)] = part.permute(2, 0, 1).conj()
            assert V is not None  # there is at least one feature
            own = self.modes.analysis(inputs.reshape(len(inputs), -1, *nodes.shape), nodes)
            V[:, m:-1] = (self.gains.to(own)[:, None] * own).permute(2, 1, 0).conj()
            V[:, -1] = self.stream.feature_map.sourced * DEFAULTS.ones * math.sqrt(m) * self.sizes.to(V)[:, None]
            target = self.modes.analysis(outputs.reshape(len(outputs), -1, *nodes.shape), nodes)
            yield V, target.permute(2, 0, 1).contiguous()

    def whole(self, a: Tensor, y: Tensor) -> tuple[Features, Targets]:
        """All samples at once."""
        parts = list(self.blocks(a, y))
        return parts[0] if len(parts) == 1 else (torch.cat([V for V, _ in parts], 2), torch.cat([Y for _, Y in parts], 1))


@dataclass(frozen=True, eq=False)
class RealRows:
    """The same samples as real rows, √twice_k (Re, Im)⟨·, ψ_k⟩, without input channels: the ordinary problem in rotated coordinates."""

    modal: ModalStream
    precomputed: Sampled | None = None
    """The samples that `blocks` will be called with, if their features are known."""

    @property
    def grid(self) -> Nodes:
        """The nodes of the outputs."""
        return self.modal.stream.grid

    def values_at(self, a: Tensor) -> "RealRows":
        """The object itself, which has the size of a sample."""
        return self

    @property
    def size(self) -> int:
        """The number of rows of a sample."""
        return 2 * self.modal.modes.count

    def blocks(self, a: Tensor, y: Tensor) -> Iterator[tuple[Float[Tensor, "p rows"], Float[Tensor, "rows columns"]]]:
        """(Aᵀ, y) of each batch."""
        for V, Y in self.modal.blocks(a, y) if self.precomputed is None else [(self.precomputed.V, self.precomputed.Y)]:
            yield (
                self.real(V[:, : self.modal.n_features].conj()).permute(1, 2, 0).flatten(1),
                self.real(Y).permute(1, 0, 2).flatten(0, 1),
            )

    def real(self, c: Inexact[Tensor, "blocks one two"]) -> Float[Tensor, "rows one two"]:
        """Real and imaginary parts, weighted."""
        root = self.modal.twice.sqrt().to(c.device)[:, None, None]
        return torch.cat([root * c.real, root * (c.imag if c.is_complex() else torch.zeros_like(c))])

    def modal_of(self, rows: Float[Tensor, "n rows_and_columns"], like: Tensor) -> Targets:
        """The inverse of `real`, for n samples of whole rows."""
        root = self.modal.twice.sqrt().to(rows.device)[:, None, None]
        real, imaginary = rows.reshape(len(rows), self.size, -1).permute(1, 0, 2).chunk(2)
        return torch.complex(real, imaginary) / root if like.is_complex() else real / root


def gains_of(sizes: Float[Tensor, "blocks"], twice: Float[Tensor, "blocks"], inputs: Float[Tensor, "channels"]) -> Tensor:
    """The factors of input channels with these norms, for features of these sizes in each mode; 1 for a channel that is zero."""
    norm = (twice.to(sizes) * sizes.square()).sum().sqrt()
    return torch.where(inputs > 0, DEFAULTS.gain * norm / inputs, 1.0)


def root_mean_squares(values: Inexact[Tensor, "count blocks"]) -> Float[Tensor, "blocks"]:
    """The root mean square in every mode; never zero."""
    sizes = squared(values).mean(0).sqrt()
    return sizes.clamp(min=max(1e-12 * float(sizes.detach().max()), torch.finfo(sizes.dtype).tiny ** 0.5))
