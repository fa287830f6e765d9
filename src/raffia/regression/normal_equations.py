"""The normal equations (eqn:opt_normaleqn) as sufficient statistics that add, and their assembly in bounded memory.

The conventions, written once. With A the matrix whose column j holds the embedded feature φ_j at all samples:

    model       F(a; α) = (1/m) Σ_j α_j φ_j(a)
    gram        G = AᵀA / m                  the 1/m of the kernel, once
    rhs         b = Aᵀy                      no 1/m
    solve       (G + ridge·I) α = b          no 1/n: `ridge` is the paper's λ, sums over samples are not averaged

When φ is a number and the outputs are functions, y and b have one column for each value of an output.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, tiles
from raffia.spaces import Grid


@dataclass(frozen=True)
class NormalEquations:
    """G, b, ‖y‖² and n: all that training needs to know of the data. Statistics of disjoint samples add."""

    gram: Float[Tensor, "m m"]
    rhs: Float[Tensor, "m *columns"]
    energy: Float[Tensor, ""]
    n_samples: int

    @property
    def n_features(self) -> int:
        """How many unknowns there are."""
        return len(self.rhs)

    def __add__(self, other: "NormalEquations") -> "NormalEquations":
        """The statistics of both sets of samples together."""
        if self.rhs.shape != other.rhs.shape:
            raise RaffiaError(
                "statistics of different problems do not add: "
                f"rhs of shape {tuple(self.rhs.shape)} and {tuple(other.rhs.shape)}."
            )
        return NormalEquations(
            self.gram + other.gram, self.rhs + other.rhs, self.energy + other.energy, self.n_samples + other.n_samples
        )

    def to(self, device: torch.device) -> "NormalEquations":
        """The same statistics on another device."""
        return NormalEquations(self.gram.to(device), self.rhs.to(device), self.energy.to(device), self.n_samples)

    def residual(self, coef: Float[Tensor, "m *columns"]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i; coef)‖², without the data; what cancellation leaves below zero is returned as zero."""
        misfit = self.energy - ((2 * self.rhs - self.gram @ coef) * coef).sum() / self.n_features
        return misfit.clamp(min=0)


def assemble(
    feature_map: FeatureMap,
    theta: Float[Tensor, "m *theta"],
    a: Float[Tensor, "n *input"],
    y: Float[Tensor, "n *output"],
    grid: Grid,
    batch_size: int,
    tile: int,
    prepared_numbers: int = 2**25,
) -> NormalEquations:
    """Stream over the samples: features of `batch_size` samples are in memory at once, evaluated `tile` numbers at a time.

    `grid` carries the outputs. Only the lower triangle of G is computed, then mirrored. What the feature map prepares of θ is
    kept if it has at most `prepared_numbers` numbers, and prepared again for each tile otherwise.
    """
    m = len(theta)
    input_grid = feature_map.domain.grid_of(a)
    kept = m * _numbers(feature_map.prepare(theta[:1], input_grid)) <= prepared_numbers
    prepared = feature_map.prepare(theta, input_grid) if kept else None
    target = grid.embed(y)
    gram = torch.zeros(m, m, dtype=y.dtype, device=y.device)
    root = grid.root_weights.to(y)
    rhs: Tensor | None = None
    for a_batch, y_batch in zip(a.split(batch_size), target.split(batch_size), strict=True):
        rows: Tensor | None = None
        for part, start in tiles((theta,) if prepared is None else prepared, max(1, tile // (len(a_batch) * grid.size))):
            phi = feature_map(a_batch, *part) if prepared is None else feature_map.evaluate(a_batch, part)
            rows = _write(rows, phi, start, m, root)
        assert rows is not None  # there is at least one feature
        scalar = rows.shape[2] == 1 and grid.size > 1
        rows = rows.reshape(m, -1)
        part_rhs = rows @ (y_batch if scalar else y_batch.reshape(-1))
        rhs = part_rhs if rhs is None else rhs.add_(part_rhs)
        _add_lower_triangle(gram, rows)
    assert rhs is not None  # split returns at least one batch
    gram = (gram.tril() + gram.tril(-1).mT) / m
    return NormalEquations(gram, rhs, target.square().sum(), len(a))


def _write(rows: Tensor | None, phi: Tensor, start: int, m: int, root: Tensor) -> Float[Tensor, "m n points"]:
    """Put one tile, embedded, into the rows of its features; points = 1 when φ is a number."""
    n, count = phi.shape[:2]
    if rows is None:
        rows = torch.empty(m, n, phi[0, 0].numel(), dtype=phi.dtype, device=phi.device)
    weight = root if phi.ndim > 2 else torch.ones_like(root[:1])
    torch.mul(phi.transpose(0, 1).reshape(count, n, -1), weight, out=rows[start : start + count])
    return rows


def _numbers(prepared: Prepared) -> int:
    return sum(part.numel() for part in prepared)


def _add_lower_triangle(gram: Tensor, phi: Tensor, block: int = 128) -> None:
    """gram += φ φᵀ on and below the diagonal, by block rows; what lies above the diagonal is not meant to be read."""
    for start in range(0, len(phi), block):
        stop = min(start + block, len(phi))
        gram[start:stop, :stop].addmm_(phi[start:stop], phi[:stop].mT)
