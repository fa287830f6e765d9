"""Pairs of functions with what is needed to understand them: the spaces they live in, hence the grid convention, and the settings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Space


@dataclass(frozen=True)
class Dataset:
    """Inputs `a` and outputs `y`, (n, *grid), which it unpacks into: `a, y = dataset`.

    `domain` is the space of the inputs; `output` that of the outputs, where it is another.
    """

    a: Any
    y: Any
    domain: Any
    settings: dict[str, Any] = field(default_factory=dict)
    output: Space | None = None

    def __post_init__(self) -> None:
        for name, space in (("domain", self.domain), ("output", self.output)):
            if not isinstance(space, Space) and (name == "domain" or space is not None):
                raise RaffiaError(f"Dataset({name}=…) must be a space, such as Domain(1) or Vectors(); got {space!r}.")
        if not isinstance(self.settings, dict):
            raise RaffiaError(
                f"Dataset(settings=…) must be a dictionary; got {self.settings!r}. A space of the outputs is output=…."
            )
        for name in ("a", "y"):
            object.__setattr__(self, name, torch.as_tensor(getattr(self, name)))

    @property
    def output_space(self) -> Space:
        """The space of the outputs, also where it is that of the inputs."""
        return self.domain if self.output is None else self.output

    def __iter__(self) -> Iterator[Tensor]:
        yield self.a
        yield self.y

    def __len__(self) -> int:
        return len(self.a)
