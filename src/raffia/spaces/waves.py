"""Fourier series of functions on a mesh: coefficients by quadrature, values at the nodes by summation."""

import math
from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Complex
from torch import Tensor

from raffia.spaces.mesh import Mesh
from raffia.transforms import plainly


@lru_cache(maxsize=8)
@plainly()
def waves(
    mesh: Mesh, shape: tuple[int, ...], boundary: Literal["neumann", "dirichlet"]
) -> tuple[Complex[Tensor, "points waves"], Complex[Tensor, "waves points"]]:
    """Matrices to and from the spectrum that `torch.fft.rfftn(…, norm="forward")` has on a torus of so many points.

    Along a periodic axis, ∫ f e^(−ikx) / |T|. Along one with ends the torus is twice as long, and f is continued evenly or oddly: it has
    cos kx, or −i sin kx, in place of the exponential.
    """
    domain = mesh.domain
    assert domain is not None  # a mesh always has one
    lengths = [length * (1 if kind.around else 2) for kind, length in zip(domain.kinds, domain.extents, strict=True)]
    axes = [torch.fft.fftfreq(n, 1 / n).double() for n in shape[:-1]] + [torch.arange(shape[-1] // 2 + 1).double()]
    vectors = torch.cartesian_prod(*axes).reshape(-1, len(shape))
    phases = [2 * math.pi / L * vectors[:, j, None] * mesh.positions[:, j] for j, L in enumerate(lengths)]
    total = torch.stack(phases).sum(0)
    alone = (vectors[:, -1] == 0) | (2 * vectors[:, -1] == shape[-1])  # k that are −k too
    twice = torch.where(alone, 1.0, 2.0)
    synthesis = twice[:, None] * torch.polar(torch.ones_like(total), total)
    turns = -sum((phase for kind, phase in zip(domain.kinds, phases, strict=True) if kind.around), torch.zeros_like(total))
    analysis = torch.polar(torch.ones_like(total), turns)
    for kind, phase in zip(domain.kinds, phases, strict=True):
        if not kind.around:
            analysis = analysis * (phase.cos() if boundary == "neumann" else -1j * phase.sin())
    weights = mesh.root_weights.square() / math.prod(domain.extents)
    return (analysis * weights).mT.contiguous(), synthesis
