"""Weak forms on a grid: integrals of a few functions and their gradients over its cells, with coefficients made of an input."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.spaces import Boundary, Grid

CHUNK = 2**24  # numbers of products that are held at once


@dataclass(frozen=True, eq=False)
class WeakForm:
    """∫ α ψ_j ψ_k + β ∇ψ_j·∇ψ_k for functions ψ_1 … ψ_r and fields α, β, by the midpoint rule, functions being multilinear in cells."""

    grid: Grid
    boundary: Boundary | tuple[Boundary, ...]
    """Of the functions ψ: whether they vanish at ends that the grid leaves out."""
    parts: Float[Tensor, "parts r cells"]
    """The functions and their derivatives along each axis, in the middle of each cell, times the root of its size."""

    @classmethod
    def of(cls, basis: Float[Tensor, "r *grid"], grid: Grid, boundary: Boundary | tuple[Boundary, ...]) -> "WeakForm":
        """Of these functions."""
        parts = [_middles(basis, grid, boundary, along) for along in range(-1, len(grid.shape))]
        size = torch.tensor(grid.spacings, dtype=torch.float64).prod().sqrt()
        return cls(grid, boundary, torch.stack(parts).flatten(2) * size.to(basis))

    def powers(self, q: Float[Tensor, "n channels *grid"], degree: int) -> Float[Tensor, "powers n cells"]:
        """1, then q of every channel, then q² … up to the degree, in the middle of each cell."""
        middle = _middles(q, self.grid, self.grid.domain.natural_boundary, -1).flatten(2).movedim(1, 0)
        return torch.cat([torch.ones_like(middle[:1]), *(middle**power for power in range(1, degree + 1))])

    def matrices(self, alpha: Float[Tensor, "n cells"], beta: Float[Tensor, "n cells"]) -> Float[Tensor, "n r r"]:
        """One for each pair of fields."""
        rows = self.parts.movedim(1, 0).flatten(1)
        size = max(1, CHUNK // rows.numel())
        fields = zip(alpha.split(size), beta.split(size), strict=True)
        return torch.cat([(rows * torch.cat([a, *[b] * (len(self.parts) - 1)], 1)[:, None]) @ rows.mT for a, b in fields])

    def terms(self, u: Float[Tensor, "n r"], powers: Float[Tensor, "powers n cells"]) -> Float[Tensor, "terms n r"]:
        """What each power adds to the matrices as α, then as β, applied to u; then the integrals of powers other than 1 with each ψ."""
        value, *slopes = self.parts
        masses = [(power * (u @ value)) @ value.mT for power in powers]
        stiffnesses = [sum((power * (u @ slope)) @ slope.mT for slope in slopes) for power in powers]
        return torch.stack([*masses, *stiffnesses, *self.sources(powers)])

    def sources(self, powers: Float[Tensor, "powers n cells"]) -> Iterator[Float[Tensor, "n r"]]:
        """The integrals of powers other than 1 with each ψ."""
        size = torch.tensor(self.grid.spacings, dtype=torch.float64).prod().sqrt().to(powers)
        return (size * power @ self.parts[0].mT for power in powers[1:])


def _middles(
    f: Float[Tensor, "*batch_and_grid"], grid: Grid, boundary: Boundary | tuple[Boundary, ...], along: int
) -> Float[Tensor, "*batch_and_cells"]:
    """Functions in the middle of each cell, or their derivatives along an axis; -1 is no axis."""
    f = grid.put_back(f, grid.domain.boundaries(boundary))
    for axis, (kind, spacing) in enumerate(zip(grid.domain.kinds, grid.spacings, strict=True)):
        dim = axis - len(grid.shape)
        f = torch.cat([f, f.narrow(dim, 0, 1)], dim) if kind.periodic else f
        before, after = f.narrow(dim, 0, f.shape[dim] - 1), f.narrow(dim, 1, f.shape[dim] - 1)
        f = (after - before) / spacing if axis == along else (before + after) / 2
    return f
