"""A GPU kernel for sums of Fourier features in float32: waves, activation and weighted sum, with no feature written to memory.

A band-limited feature is a short sum of cosines and sines, so a tile of features is the product of (features × wavenumbers) with
(wavenumbers × points) matrices on the tensor cores; three products in reduced precision make one of float32's. It applies to
circles, 64 wavenumbers or fewer and the activations below, where Triton is there; the plain path serves everything else.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Complex, Float
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU build of torch
    triton = None

KINDS = {"elu": 0, "tanh": 1, "gelu": 2, "relu": 3, "sin": 4, "identity": 5}
MOST_WAVENUMBERS, BLOCK = 64, 64


def applies(theta: Tensor, activation: str, wavenumbers: int) -> bool:
    """Whether the kernel can do it."""
    ready = triton is not None and theta.is_cuda and theta.dtype == torch.float32
    return ready and activation in KINDS and 1 <= wavenumbers <= MOST_WAVENUMBERS


def combination(
    multiplier: Complex[Tensor, "m waves"], coef: Float[Tensor, "m"], points: int, activation: str
) -> Callable[[Tensor], Tensor]:
    """a ↦ Σ_j coef_j σ(F⁻¹(multiplier_j · Fa)); the first multiplier stands alone, as the shift."""
    count = multiplier.shape[1] - 1
    size = max(16, 1 << (count - 1).bit_length())
    x = torch.arange(points, dtype=torch.float64, device=coef.device) / points
    phase = 2 * math.pi * torch.arange(1, size + 1, dtype=torch.float64, device=coef.device)[:, None] * x
    cosine, sine = (2 * phase.cos()).float(), (-2 * phase.sin()).float()
    shift = multiplier[:, 0].real.contiguous()
    real, imaginary = (_padded(part, size) for part in (multiplier[:, 1:].real, multiplier[:, 1:].imag))

    def combined(a: Float[Tensor, "n points"]) -> Float[Tensor, "n points"]:
        a = a.contiguous()  # the kernel writes row after row
        spectrum = torch.fft.rfft(a, norm="forward")[:, 1 : count + 1]
        parts = [_padded(part, size) for part in (spectrum.real, spectrum.imag)]
        out = torch.empty_like(a)
        cells = (triton.cdiv(points, BLOCK), len(a))
        with torch.cuda.device(a.device):  # Triton launches on the current one
            _kernel[cells](
                *parts, real, imaginary, shift, coef, cosine, sine, out, len(coef), points,
                SIZE=size, BLOCK=BLOCK, KIND=KINDS[activation], num_warps=4, num_stages=2,
            )  # fmt: skip
        return out

    return combined


def _padded(part: Tensor, size: int) -> Tensor:
    return torch.nn.functional.pad(part, (0, size - part.shape[1])).contiguous()


if triton is not None:

    @triton.jit
    def _kernel(
        a_re, a_im, m_re, m_im, shift, coef, cosine, sine, out, m, points,
        SIZE: tl.constexpr, BLOCK: tl.constexpr, KIND: tl.constexpr,
    ):  # fmt: skip
        """One sample and one block of points: all features pass by, a tile at a time."""
        sample = tl.program_id(1)
        column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        wave = tl.arange(0, SIZE)
        inside = column[None, :] < points
        C = tl.load(cosine + wave[:, None] * points + column[None, :], mask=inside, other=0.0)
        S = tl.load(sine + wave[:, None] * points + column[None, :], mask=inside, other=0.0)
        x = tl.load(a_re + sample * SIZE + wave)[None, :]
        y = tl.load(a_im + sample * SIZE + wave)[None, :]
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, m, BLOCK):
            row = start + tl.arange(0, BLOCK)
            here = row < m
            u = tl.load(m_re + row[:, None] * SIZE + wave[None, :], mask=here[:, None], other=0.0)
            v = tl.load(m_im + row[:, None] * SIZE + wave[None, :], mask=here[:, None], other=0.0)
            w = tl.dot(u * x - v * y, C, input_precision="tf32x3")
            w = tl.dot(u * y + v * x, S, acc=w, input_precision="tf32x3")
            w += tl.load(shift + row, mask=here, other=0.0)[:, None]
            if KIND == 0:
                w = tl.where(w > 0, w, tl.exp(w) - 1)
            elif KIND == 1:
                w = 2 * tl.sigmoid(2 * w) - 1
            elif KIND == 2:
                w = 0.5 * w * (1 + tl.erf(0.7071067811865476 * w))
            elif KIND == 3:
                w = tl.maximum(w, 0.0)
            elif KIND == 4:
                w = tl.sin(w)
            total += tl.sum(w * tl.load(coef + row, mask=here, other=0.0)[:, None], axis=0)
        tl.store(out + sample * points + column, total, mask=column < points)
