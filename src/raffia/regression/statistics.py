"""The data of a least-squares problem, in the form that a solver needs; statistics of disjoint samples add.

The conventions, written once. With A the matrix whose column j holds the embedded feature φ_j at all samples:

    model       F(a; α) = (1/m) Σ_j α_j φ_j(a)
    gram        G = AᵀA / m                  the 1/m of the kernel, once
    rhs         b = Aᵀy                      no 1/m
    solve       (G + ridge·I) α = b          no 1/n: `ridge` is the paper's λ, sums over samples are not averaged

which minimises ‖y − Aα/m‖² + (ridge/m) ‖α‖². A sample has one row for each node of its features, and y has one column for each channel.
For scalar features, a sample is one row and y has one column for each element of an output.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.feature_stream import FeatureStream

Packed = dict[str, Any]
"""Statistics as a dictionary of NumPy arrays and numbers: what files hold and what travels between machines."""

Form = TypeVar("Form", bound="Statistics")


class Statistics(ABC):
    """A least-squares problem in one form. A new form is one file with a frozen dataclass that derives from this class."""

    forms: ClassVar[dict[str, type["Statistics"]]] = {}
    """All forms, by the names that files and workers use."""
    portable: ClassVar[bool] = True
    """Whether they can be stored and sent: they hold sums and not the data."""

    gram: Float[Tensor, "m m"]
    """G = AᵀA/m, formed if necessary."""
    rhs: Float[Tensor, "m *columns"]
    """b = Aᵀy."""
    energy: Float[Tensor, ""]
    """‖y‖²."""
    n_samples: int

    def __init_subclass__(cls) -> None:
        """Register a form under its name."""
        Statistics.forms[cls.__name__] = cls

    @classmethod
    @abstractmethod
    def assemble(cls: type[Form], stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> Form:
        """The statistics of some pairs."""

    @abstractmethod
    def nothing(self: Form) -> Form:
        """Statistics of no samples, in the same form and on the CPU, that take no memory."""

    @abstractmethod
    def __add__(self: Form, other: Form) -> Form:
        """The statistics of both sets of samples together; both have the same form."""

    @abstractmethod
    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x = AᵀA x / m."""

    @property
    def n_features(self) -> int:
        """The number of unknowns."""
        return len(self.rhs)

    @property
    def scale(self) -> float:
        """tr G, the scale of useful ridges."""
        return float(self.gram.diagonal().sum())

    def residual(self, coef: Float[Tensor, "m *columns"]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i; coef)‖², without the data; negative values from cancellation are returned as zero."""
        flat, rhs = coef.reshape(len(coef), -1), self.rhs.reshape(len(coef), -1)
        misfit = self.energy - ((2 * rhs - self.apply(flat)) * flat).sum() / self.n_features
        return misfit.clamp(min=0)

    def check(self) -> None:  # noqa: B027 (optional)
        """Refuse features that are not finite or all zero on the data."""

    def packed(self) -> Packed:
        """The fields and the name of the form."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # all are dataclasses
        arrays = {name: value.numpy(force=True) if torch.is_tensor(value) else value for name, value in content.items()}
        return {"kind": type(self).__name__, **arrays}

    @classmethod
    def unpacked(cls: type[Form], content: Packed, device: torch.device | str = "cpu") -> Form:
        """The inverse of `packed`. Tensors are copied, since the last bit of products may depend on the alignment of memory."""
        own = {name: value for name, value in content.items() if name != "kind"}
        held = (np.ndarray, Tensor)
        return cls(**{name: _own(value, device) if isinstance(value, held) else value for name, value in own.items()})


def unpacked(content: Packed, device: torch.device | str = "cpu") -> Statistics:
    """Statistics of any form, from the result of `Statistics.packed`."""
    return Statistics.forms[content["kind"]].unpacked(content, device)


def _own(value: np.ndarray | Tensor, device: torch.device | str) -> Tensor:
    if not torch.is_tensor(value) and np.iscomplexobj(value):
        value = np.array(value)  # data from a socket may be unaligned, and torch assumes that complex numbers are aligned
    return torch.as_tensor(value).clone().to(device)


def refuse_other_problem(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Refuse to add statistics of different shapes."""
    if one != other:
        raise RaffiaError(f"statistics of different problems do not add: they have shapes {one} and {other}.")


@dataclass(frozen=True, eq=False)
class NormalEquations(Statistics):
    """G, b, ‖y‖² and n, by the conventions of `statistics.py`. Statistics of disjoint samples add."""

    gram: Float[Tensor, "m m"]
    rhs: Float[Tensor, "m *columns"]
    energy: Float[Tensor, ""]
    n_samples: int

    @classmethod
    def assemble(cls, stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "NormalEquations":
        """Stream over the samples. Only the lower triangle of G is computed, then mirrored."""
        m = len(stream.theta)
        gram = torch.zeros(m, m, dtype=y.dtype, device=stream.theta.device)
        rhs, energy, weight = None, torch.zeros((), dtype=y.dtype, device=gram.device), stream.weight_at(a)
        for rows, target in stream.blocks(a, y, weighted=False):
            part = rows @ target
            rhs = part if rhs is None else rhs.add_(part)
            energy += target.square().sum()
            add_lower_triangle(gram, rows)
        assert rhs is not None  # there is at least one sample
        mirror(gram)
        return cls(gram.mul_(weight**2 / m), rhs.mul_(weight), energy, len(a))

    @classmethod
    def of(cls, statistics: Statistics) -> "NormalEquations":
        """From statistics of any form, by forming G."""
        return cls(statistics.gram, statistics.rhs, statistics.energy, statistics.n_samples)

    def nothing(self) -> "NormalEquations":
        """Zeros that take no memory."""
        zero = torch.zeros((), dtype=self.rhs.dtype)
        return type(self)(zero.expand(self.gram.shape), zero.expand(self.rhs.shape), zero, 0)

    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x."""
        return self.gram @ x

    def __add__(self, other: "NormalEquations") -> "NormalEquations":
        """The statistics of both sets of samples together."""
        refuse_other_problem(tuple(self.rhs.shape), tuple(other.rhs.shape))
        device = (other if self.n_samples == 0 else self).rhs.device
        one, two = self.to(device), other.to(device)
        return type(self)(one.gram + two.gram, one.rhs + two.rhs, one.energy + two.energy, one.n_samples + two.n_samples)

    def __sub__(self, other: "NormalEquations") -> "NormalEquations":
        """The statistics of all samples except those of `other`, which must be among them."""
        return type(self)(
            self.gram - other.gram, self.rhs - other.rhs, self.energy - other.energy, self.n_samples - other.n_samples
        )

    def to(self, device: torch.device) -> "NormalEquations":
        """The same statistics on another device."""
        return type(self)(self.gram.to(device), self.rhs.to(device), self.energy.to(device), self.n_samples)

    def check(self) -> None:
        """Refuse features that are not finite or all zero on the data."""
        if not torch.isfinite(self.gram.diagonal().sum()):
            raise RaffiaError("the features are not finite on these inputs: check the hyperparameters of feature_map.")
        if not (torch.isfinite(self.energy) and torch.isfinite(self.rhs).all()):
            raise RaffiaError("y is too large to be squared in float64: give outputs in larger units, or pass normalize=True.")
        if self.scale == 0:
            raise RaffiaError(
                "all features vanish on these inputs, so nothing can be learnt: check the hyperparameters of feature_map "
                "(FourierFeatures do not depend on the mean of a, so they are zero for constant functions)."
            )


def add_lower_triangle(gram: Tensor, phi: Tensor, block: int | None = None) -> None:
    """gram += φ φᴴ on and below the diagonal, by block rows; entries above the diagonal are undefined."""
    block = block or (128 if phi.device.type == "cpu" else 256)
    for start in range(0, len(phi), block):
        stop = min(start + block, len(phi))
        gram[start:stop, :stop].addmm_(phi[start:stop], phi[:stop].mH)


def factorised(
    matrices: Inexact[Tensor, "*blocks p p"], ridges: float | Float[Tensor, "*blocks"]
) -> tuple[Inexact[Tensor, "*blocks p p"], Int[Tensor, "*blocks"]]:
    """L of G + λ = L Lᴴ, of one matrix or of each block, and whether the factorisation failed.

    For infinite λ, L is that of G + 1 and must not be used.
    """
    shifted, ridges = matrices.clone(), torch.as_tensor(ridges, dtype=torch.float64, device=matrices.device)
    shifted.diagonal(dim1=-2, dim2=-1).add_(torch.where(torch.isinf(ridges), 1.0, ridges)[..., None])
    return torch.linalg.cholesky_ex(shifted)


def mirror(gram: Tensor, block: int = 1024) -> None:
    """Copy the lower triangle to the upper one (its conjugate, if complex), in place."""
    for start in range(0, len(gram), block):
        stop = min(start + block, len(gram))
        gram[:start, start:stop] = gram[start:stop, :start].mH
        corner = gram[start:stop, start:stop]
        corner.copy_(corner.tril() + corner.tril(-1).mH)


Block = tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]


@dataclass(frozen=True, eq=False)
class Streamed(Statistics):
    """Pairs and features. Features are cached if they have at most `kept_elements`, and evaluated again otherwise."""

    portable: ClassVar[bool] = False

    stream: FeatureStream
    data: tuple[tuple[Tensor, Tensor], ...]
    kept_elements: int

    @classmethod
    def assemble(cls, stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "Streamed":
        """The pairs themselves, which must not be changed afterwards."""
        return cls(stream, ((a, y),), stream.kept_elements)

    def nothing(self) -> "Streamed":
        """No pairs."""
        return type(self)(self.stream, (), self.kept_elements)

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """The number of pairs."""
        return sum(len(a) for a, _ in self.data)

    @property
    def n_features(self) -> int:
        """The number of unknowns."""
        return len(self.stream.theta)

    @property
    def n_rows(self) -> int:
        """The number of rows of A."""
        return sum(len(a) * self.stream.values_at(a).size for a, _ in self.data)

    @cached_property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return torch.stack([self.stream.grid.embed(y).square().sum() for _, y in self.data]).sum()

    @cached_property
    def rhs(self) -> Float[Tensor, "m *columns"]:  # type: ignore[override]
        """Aᵀy."""
        return self.transposed(target for _, target in self.blocks())

    @cached_property
    def gram(self) -> Float[Tensor, "m m"]:  # type: ignore[override]
        """G, in one pass over the data."""
        parts = [NormalEquations.assemble(self.stream, a, y) for a, y in self.data]
        return sum(parts[1:], start=parts[0]).gram

    def blocks(self) -> Iterator[Block]:
        """(Aᵀ, y) a batch at a time."""
        return iter(self._cached) if self.n_features * self.n_rows <= self.kept_elements else self._evaluated()

    def product(self, x: Float[Tensor, "m columns"]) -> Iterator[Float[Tensor, "rows columns"]]:
        """A x, a batch at a time."""
        return (rows.mT @ x for rows, _ in self.blocks())

    def transposed(self, parts: Iterator[Tensor]) -> Float[Tensor, "m *columns"]:
        """Return Aᵀu, where `parts` are consecutive rows of u."""
        total: Tensor | None = None
        for (rows, _), part in zip(self.blocks(), parts, strict=True):
            total = rows @ part if total is None else total.add_(rows @ part)
        assert total is not None  # there is at least one sample
        return total

    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x in one pass over the data."""
        total = torch.zeros_like(x)
        for rows, _ in self.blocks():
            total.addmm_(rows, rows.mT @ x)
        return total / self.n_features

    def __add__(self, other: "Streamed") -> "Streamed":
        """The pairs of both."""
        return type(self)(self.stream, self.data + other.data, self.kept_elements)

    @cached_property
    def _cached(self) -> list[Block]:
        return list(self._evaluated())

    def _evaluated(self) -> Iterator[Block]:
        for a, y in self.data:
            yield from self.stream.blocks(a, y)
