"""Features and outputs by their modes, a batch of samples at a time: what modal coefficients are found from.

With (ψ_k) orthonormal modes of the outputs, the features of block k are the numbers ⟨φ_j(a), ψ_k⟩, and after them ⟨a_c, ψ_k⟩ for each
channel of the input itself, GAIN times as large as features are: a ridge on its coefficient is then GAIN² times weaker than on those of
the others. The last is the same at every sample, which makes a mean function, as features that know no places cannot; it is as large as
others in its block, and ONES √m times that.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.regression.blocks import squared
from raffia.regression.feature_stream import FeatureStream
from raffia.spaces import Modes, Nodes

GAIN = 30.0
"""How large inputs are beside features, where they are some: larger ones are no freer, and round off what ridges on the others do."""
ONES = 10.0
"""What constants are multiplied by, beside features: a ridge of a share s of their trace takes s/100 of a mean function away."""
SAMPLES = {"cpu": 256, "cuda": 2048}
"""Samples in one product: enough for its speed."""

FEWEST = 8
"""Samples in one tile of features, at least: what is the same for all features of a sample is found once a tile. Features that take long
have as many numbers on the way, and smaller tiles."""

Features = Inexact[Tensor, "blocks p n"]
Targets = Inexact[Tensor, "blocks n columns"]


class Sampled(NamedTuple):
    """Some samples: V, Y and their numbers."""

    V: Features
    Y: Targets
    rows: Int[Tensor, "n"]

    def at(self, blocks: Int[Tensor, "some"]) -> "Sampled":
        """Of some blocks."""
        return Sampled(self.V[blocks], self.Y[blocks], self.rows)

    def few(self, which: Int[Tensor, "some"]) -> "Sampled":
        """Fewer of the samples."""
        return Sampled(self.V[:, :, which.to(self.V.device)], self.Y[:, which.to(self.Y.device)], self.rows[which])


@dataclass(frozen=True, eq=False)
class ModalStream:
    """The features of `stream`, in these modes."""

    stream: FeatureStream
    modes: Modes
    sizes: Float[Tensor, "blocks"]
    """About how large features are."""
    gains: Float[Tensor, "channels"]
    """What each channel of the inputs is multiplied by."""

    @property
    def n_features(self) -> int:
        """m."""
        return len(self.stream.theta)

    @property
    def size(self) -> int:
        """p, how many coefficients a block has: one for each feature and for each channel of the input, and one."""
        return self.n_features + int(self.stream.feature_map.domain.channels) + 1

    @property
    def twice(self) -> Float[Tensor, "blocks"]:
        """How many modes each block stands for."""
        return self.modes.twice(self.modes.grid).to(self.stream.theta)

    def energy(self, y: Tensor) -> Float[Tensor, ""]:
        """‖y‖² of some outputs."""
        return self.stream.grid.embed(y).square().sum().to(self.stream.theta.device)

    def blocks(self, a: Tensor, y: Tensor) -> Iterator[tuple[Features, Targets]]:
        """(V, Y) of each batch: V_k,ji is the conjugate of feature j of sample i, so F = Vᴴα/m; Y_k,i is ⟨y_i, ψ_k⟩."""
        nodes, m = self.stream.values_at(a), self.n_features
        fewest = 1 if self.stream.feature_map.dear else FEWEST
        at_once = max(fewest, self.stream.tile // (m * nodes.size * (FEWEST // fewest)))
        for tiled, inputs, outputs in self.stream.tiled(a, y, at_once):
            V: Tensor | None = None
            for phi, start, first in tiled:
                part = self.modes.analysis(phi.transpose(0, 1), nodes)
                V = part.new_empty(part.shape[-1], self.size, len(inputs)) if V is None else V
                V[:, start : start + len(part), first : first + len(phi)] = part.permute(2, 0, 1).conj()
            assert V is not None  # there is at least one feature
            own = self.modes.analysis(inputs.reshape(len(inputs), -1, *nodes.shape), nodes)
            V[:, m:-1] = (self.gains.to(own)[:, None] * own).permute(2, 1, 0).conj()
            V[:, -1] = self.stream.feature_map.sourced * ONES * math.sqrt(m) * self.sizes.to(V)[:, None]
            target = self.modes.analysis(outputs.reshape(len(outputs), -1, *nodes.shape), nodes)
            yield V, target.permute(2, 0, 1).contiguous()

    def whole(self, a: Tensor, y: Tensor) -> tuple[Features, Targets]:
        """All samples at once."""
        parts = list(self.blocks(a, y))
        return parts[0] if len(parts) == 1 else (torch.cat([V for V, _ in parts], 2), torch.cat([Y for _, Y in parts], 1))


@dataclass(frozen=True, eq=False)
class RealRows:
    """The same samples as rows of real numbers, √twice_k (Re, Im)⟨·, ψ_k⟩, without inputs: what ordinary coefficients see, rotated."""

    modal: ModalStream
    held: Sampled | None = None
    """What is known of the samples that will be asked for, where features are not to be evaluated again."""

    @property
    def grid(self) -> Nodes:
        """Where the outputs live."""
        return self.modal.stream.grid

    def values_at(self, a: Tensor) -> "RealRows":
        """Itself: it knows its size."""
        return self

    @property
    def size(self) -> int:
        """Rows of a sample."""
        return 2 * self.modal.modes.count

    def blocks(self, a: Tensor, y: Tensor) -> Iterator[tuple[Float[Tensor, "p rows"], Float[Tensor, "rows columns"]]]:
        """(Aᵀ, y) of each batch."""
        for V, Y in self.modal.blocks(a, y) if self.held is None else [(self.held.V, self.held.Y)]:
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
    """What inputs of these norms are multiplied by, beside features with these sizes in each mode; a channel that is zero is not."""
    norm = (twice.to(sizes) * sizes.square()).sum().sqrt()
    return torch.where(inputs > 0, GAIN * norm / inputs, 1.0)


def root_mean_squares(values: Inexact[Tensor, "count blocks"]) -> Float[Tensor, "blocks"]:
    """Of every mode; never zero."""
    sizes = squared(values).mean(0).sqrt()
    return sizes.clamp(min=max(1e-12 * float(sizes.detach().max()), torch.finfo(sizes.dtype).tiny ** 0.5))
