"""Kinds of axes: where the nodes of an equispaced grid lie between the ends of an axis, and series of waves along it.

    periodic    • • • • ·    around a circle, the right end left out: it is the left end
    box         •  •  •  •   both ends
    cells       ' • • • • '  centres of cells, half a step from either end
    left        • • • • ·    the left end, but not the right one
    right       · • • • •    the right end, but not the left one

For series of waves, an end without a node is added: with value zero for functions that vanish there, else with the value of its
neighbour. So `left` and `right` are treated as boxes. A quadrature that gives the neighbour the missing half step is consistent with this.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError

Boundary = Literal["periodic", "neumann", "dirichlet"]


@dataclass(frozen=True)
class Axis:
    """A kind of axis: the distances from the left end to the first node and from the last node to the right end, in spacings."""

    name: str
    before: float
    after: float
    periodic: bool = False
    in_words: str = ""

    def intervals(self, points: int) -> int:
        """The length of an axis with so many nodes, in spacings."""
        return round(points - 1 + self.before + self.after)

    def points(self, intervals: int) -> int:
        """The number of nodes on an axis of so many spacings."""
        return round(intervals + 1 - self.before - self.after)

    @property
    def least(self) -> int:
        """The least number of nodes."""
        return self.points(1)

    def period(self, points: int) -> int:
        """The number of nodes of one period: once around a periodic axis, or to the other end and back."""
        return self.intervals(points) * (1 if self.periodic else 2)

    def coordinates(self, points: int, extent: float) -> Float[Tensor, "points"]:
        """The coordinates of the nodes."""
        x = torch.arange(points, dtype=torch.float64)
        return extent / self.intervals(points) * (x + self.before if self.before else x)

    def weights(self, points: int, extent: float) -> Float[Tensor, "points"]:
        """Quadrature weights: the composite trapezoid rule, or the midpoint rule for cells."""
        weights = torch.ones(points, dtype=torch.float64)
        if not self.periodic:
            weights[0] += self.before - 0.5
            weights[-1] += self.after - 0.5
        return extent / self.intervals(points) * weights

    def refined(self, points: int) -> tuple[int, slice]:
        """The number of nodes of a finer axis that contains these nodes, and which of its nodes they are."""
        factor = 3 if self.before % 1 else 2  # two centres of cells have none in the middle
        return self.points(factor * self.intervals(points)), slice(round(self.before * (factor - 1)), None, factor)

    @property
    def left_out(self) -> tuple[int, int]:
        """Whether the first and the last end lack a node (1 or 0)."""
        return int(self.before == 1), int(self.after == 1 and not self.periodic)

    @property
    def with_ends(self) -> "Axis":
        """The kind of the axis with nodes added at ends that lack them."""
        return BOX if any(self.left_out) else self

    def at_ends(self, f: Tensor, dim: int) -> list[tuple[Tensor, Tensor]]:
        """For each end, the values of functions there, linearly extrapolated if there is no node, and at the nearest node."""
        ends = []
        for gap, node, neighbour in ((self.before, 0, 1), (self.after, -1, -2)):
            near = f.select(dim, node)
            slope = near - f.select(dim, neighbour if f.shape[dim] > 1 else node)
            ends.append((near + gap * slope if gap else near, near))
        return ends

    def put_back(self, f: Tensor, dim: int, boundary: Boundary) -> Tensor:
        """Add values at ends that lack a node: zero, or those of the neighbours."""
        first, last = self.left_out
        if not first and not last:
            return f
        near = f.narrow(dim, 0 if first else f.shape[dim] - 1, 1)
        end = torch.zeros_like(near) if boundary == "dirichlet" else near
        return torch.cat([end, f] if first else [f, end], dim)

    def reflected(self, f: Tensor, dim: int, odd: bool) -> Tensor:
        """One period of the even or odd extension, starting at the first node. Functions on a periodic axis are returned unchanged."""
        if self.periodic:
            return f
        first, last = self.left_out
        begin, end = int(self.before == 0), int(self.after == 0)  # nodes at an end are not mirrored
        mirrored = f.narrow(dim, begin, f.shape[dim] - begin - end).flip(dim)
        if not odd:
            parts = [f, f.narrow(dim, -1, 1), mirrored] if last else [f, mirrored]
            return torch.cat([*parts, f.narrow(dim, 0, 1)] if first else parts, dim)
        zero, inner = torch.zeros_like(f.narrow(dim, 0, 1)), f.narrow(dim, begin, f.shape[dim] - begin - end)
        parts = [zero] * begin + [inner] + [zero] * (end + last) + [-mirrored] + [zero] * first
        return torch.cat(parts, dim)

    def capacity(self, points: int, boundary: Boundary) -> int:
        """The number of waves that are orthonormal under the quadrature, without the highest resolved one."""
        n = self.intervals(points)
        return 2 * ((n - 1) // 2) + 1 if boundary == "periodic" else n - (boundary == "dirichlet")

    def rank(self, points: int, boundary: Boundary) -> int:
        """The number of linearly independent waves on an axis with its ends."""
        return points - (0 if boundary != "dirichlet" else (self.before == 0) + (self.after == 0))

    def synthesis(self, coef: Float[Tensor, "*batch rank"], points: int, boundary: Boundary) -> Float[Tensor, "*batch points"]:
        """Sums of waves of unit mean square along an axis with its ends: 2 Re Σ_k X_k e^(iωx), a real inverse transform over a period."""
        period = self.period(points)
        if boundary == "periodic":
            spectrum = _paired(coef, period)
        else:
            scaled = coef * _factors(coef, period, boundary, math.sqrt(0.5))
            zero = torch.zeros_like(scaled)
            if boundary == "neumann":
                spectrum = torch.complex(scaled, zero)
            else:
                spectrum = torch.nn.functional.pad(torch.complex(zero, -scaled), (1, 0))
        if self.before:
            spectrum = spectrum * _turned(spectrum, self.before / period)
        return torch.fft.irfft(spectrum, n=period, norm="forward")[..., :points]

    def analysis(self, f: Float[Tensor, "*batch points"], rank: int, boundary: Boundary) -> Float[Tensor, "*batch rank"]:
        """Sums Σ_j f_j ψ_k(x_j) over the nodes of an axis with its ends: the adjoint of `synthesis`."""
        period = self.period(f.shape[-1])
        spectrum = torch.fft.rfft(f, n=period)
        if self.before:
            spectrum = spectrum * _turned(spectrum, -self.before / period)
        if boundary == "periodic":
            return _unpaired(spectrum, period, rank)
        waves = spectrum.real[..., :rank] if boundary == "neumann" else -spectrum.imag[..., 1 : rank + 1]
        return waves * _factors(waves, period, boundary, math.sqrt(2))


PERIODIC = Axis("periodic", 0.0, 1.0, periodic=True, in_words="periodic, so the right end is left out")
BOX = Axis("box", 0.0, 0.0, in_words="a box, so both ends are in it")
CELLS = Axis("cells", 0.5, 0.5, in_words="centres of cells, half a step from either end")
LEFT = Axis("left", 0.0, 1.0, in_words="a box without its last end")
RIGHT = Axis("right", 1.0, 0.0, in_words="a box without its first end")
KINDS = {axis.name: axis for axis in (PERIODIC, BOX, CELLS, LEFT, RIGHT)}


def kinds_of(words: str | Sequence[str], dim: int, argument: str) -> tuple[Axis, ...]:
    """The kind of each axis by name: one name for all, a sequence of names, or one text with commas."""
    names = names_of(words)
    wrong = [name for name in names if str(name) not in KINDS]
    if wrong or len(names) not in (1, dim):
        raise RaffiaError(
            f"{argument} needs one of {', '.join(KINDS)} for each of {dim} axes, or for all; got {wrong[0] if wrong else words!r}."
        )
    return tuple(KINDS[name] for name in (names * dim if len(names) == 1 else names))


def names_of(words: str | Sequence[str]) -> list[str]:
    """Names from a sequence or a text with commas."""
    return [word.strip() for word in words.split(",")] if isinstance(words, str) else list(words)


def _factors(like: Tensor, period: int, boundary: Boundary, factor: float) -> Tensor:
    """`factor` for waves that represent k and −k; 1 for k = 0 and the highest wave."""
    first = int(boundary == "dirichlet")
    factors = torch.full((like.shape[-1],), factor, dtype=like.dtype, device=like.device)
    for k in (0, period // 2):
        if first <= k < first + len(factors):
            factors[k - first] = 1
    return factors


def _paired(coef: Tensor, period: int) -> Tensor:
    """Coefficients of 1, sin, cos, … as a complex spectrum. With an even number of points, the last one is the highest cosine."""
    top = coef[..., -1:] if period % 2 == 0 and coef.shape[-1] == period > 1 else coef[..., :0]
    coef = coef[..., : coef.shape[-1] - top.shape[-1]]
    weighted = coef / math.sqrt(2)
    sine, cosine = weighted[..., 1::2], weighted[..., 2::2]
    cosine = torch.nn.functional.pad(cosine, (0, sine.shape[-1] - cosine.shape[-1]))
    constant = torch.complex(coef[..., :1], torch.zeros_like(coef[..., :1]))
    return torch.cat([constant, torch.complex(cosine, -sine), torch.complex(top, torch.zeros_like(top))], dim=-1)


def _unpaired(spectrum: Tensor, period: int, rank: int) -> Tensor:
    """The adjoint of `_paired`."""
    top = spectrum.real[..., -1:] if period % 2 == 0 and rank == period > 1 else spectrum.real[..., :0]
    cosine, sine = math.sqrt(2) * spectrum.real, -math.sqrt(2) * spectrum.imag
    waves = torch.stack([sine[..., 1:], cosine[..., 1:]], dim=-1).flatten(-2)
    waves = torch.cat([spectrum.real[..., :1], waves], dim=-1)[..., : rank - top.shape[-1]]
    return torch.cat([waves, top], dim=-1) if top.shape[-1] else waves


def _turned(spectrum: Tensor, turns: float) -> Tensor:
    """e^(2πi k · turns) for each wavenumber k."""
    phase = 2 * math.pi * turns * torch.arange(spectrum.shape[-1], dtype=torch.float64)
    return torch.polar(torch.ones_like(phase), phase).to(spectrum)


def equispaced(x: np.ndarray) -> bool:
    """Whether coordinates are equispaced, up to rounding in single precision."""
    steps = np.diff(np.asarray(x, dtype=np.float64))
    mean = float(steps.mean())
    return bool(np.abs(steps - mean).max() <= 1e-3 * abs(mean) + 4e-7 * float(np.abs(x).max())) and mean != 0
