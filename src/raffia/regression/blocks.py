"""Batches of small Hermitian systems, a few at a time in bounded memory."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

BYTES = {"cpu": 2**27, "cuda": 2**33}
"""Of the matrices that are factorised at once."""


def ranges(matrices: Inexact[Tensor, "blocks p p"]) -> Iterator[slice]:
    """Slices of the blocks that fit into memory together, a few times over."""
    size = max(1, BYTES[matrices.device.type] // max(1, matrices[0].nbytes))
    return (slice(start, start + size) for start in range(0, len(matrices), size))


def factorised(
    matrices: Inexact[Tensor, "blocks p p"], ridges: Float[Tensor, "blocks"]
) -> tuple[Inexact[Tensor, "blocks p p"], Int[Tensor, "blocks"]]:
    """L of G + λ = L Lᴴ for each block, and whether that failed; where λ is infinite, of G + 1, which nobody should use."""
    shifted = matrices.clone()
    shifted.diagonal(dim1=1, dim2=2).add_(torch.where(torch.isinf(ridges), 1.0, ridges)[:, None])
    return torch.linalg.cholesky_ex(shifted)


def squared(z: Inexact[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """|z|², without the root that torch would take first."""
    return torch.view_as_real(z.resolve_conj()).square().sum(-1) if z.is_complex() else z.square()
