"""Pairs of functions with what is needed to understand them: the spaces they live in, hence the grid convention, and the settings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float
from torch import Tensor

from raffia.spaces import Space


@dataclass(frozen=True)
class Dataset:
    """Inputs `a` and outputs `y`, (n, *grid), which it unpacks into: `a, y = dataset`.

    `domain` is the space of the inputs; `output` that of the outputs, where it is another.
    """

    a: Float[Tensor, "n *input"]
    y: Float[Tensor, "n *output"]
    domain: Any
    settings: dict[str, Any] = field(default_factory=dict)
    output: Space | None = None

    def __iter__(self) -> Iterator[Tensor]:
        yield self.a
        yield self.y

    def __len__(self) -> int:
        return len(self.a)
