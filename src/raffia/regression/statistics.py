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
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float
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
