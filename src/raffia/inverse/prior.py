"""Priors of unknown functions as maps of white noise: a = T(m + Σ_k ξ_k √λ_k φ_k), ξ ~ N(0, I)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import GaussianField, Measure
from raffia.spaces import Grid, Mesh
from raffia.validation import check_count

DENSE = 2**24
"""Entries of a matrix of modes that is cached; for larger ones functions are synthesised anew at each call."""


@dataclass(frozen=True, eq=False)
class Prior:
    """A prior distribution of functions as a map of white noise: ξ ~ N(0, I) ↦ a = T(m + Σ_k ξ_k √λ_k φ_k).

    The sum is over the modes that the grid can hold. T is the identity, or that of a `Pushforward`.

    Parameters
    ----------
    law
        A `GaussianField`, or a `Pushforward` of one, such as `Darcy(law="lognormal").input_measure`, where T is exp.
    grid
        The grid or mesh of the functions.
    mean
        m, a number or a function on the grid. It is added before T.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import Prior
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> prior.size, prior(torch.zeros(2, 8, dtype=torch.float64)).shape
    (8, torch.Size([2, 16]))
    """

    law: Measure
    grid: Grid | Mesh
    mean: float | Tensor = 0.0
    _on: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False)
    """The modes, on each device where they were needed."""

    def __post_init__(self) -> None:
        if not isinstance(self.gaussian, GaussianField):
            raise RaffiaError(
                f"Prior(law=…) must be a GaussianField or a Pushforward of one, whose coordinates are white; got {self.law!r}."
            )
        mean = torch.as_tensor(self.mean, dtype=torch.float64)
        if (mean.ndim and tuple(mean.shape) != self.grid.shape) or not torch.isfinite(mean).all():
            raise RaffiaError(
                f"Prior(mean=…) must be a finite number or function on the grid, of shape {self.grid.shape}; got {tuple(mean.shape)}."
            )

    @property
    def gaussian(self) -> GaussianField:
        """The Gaussian field that all is a function of."""
        return cast(GaussianField, getattr(self.law, "of", self.law))

    @cached_property
    def _expansion(self) -> tuple[int, Callable[[Tensor], Tensor]]:
        return self.gaussian.expansion(self.grid)

    @property
    def size(self) -> int:
        """How many coordinates ξ there are."""
        return self._expansion[0]

    def field(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n *shape"]:
        """m + g, before T."""
        few = self.size * self.grid.size <= DENSE
        g = (xi @ self._modes(xi.device)).reshape(len(xi), *self.grid.shape) if few else self._expansion[1](xi)
        return g + torch.as_tensor(self.mean, dtype=torch.float64).to(xi)

    def __call__(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n *shape"]:
        """The functions a with coordinates ξ, differentiable."""
        transform: Callable[[Tensor], Tensor] | None = getattr(self.law, "by", None)
        g = self.field(xi)
        return g if transform is None else transform(g)

    def _modes(self, device: torch.device) -> Float[Tensor, "size points"]:
        """√λ_k φ_k at the nodes."""
        if device not in self._on:
            self._on[device] = self._expansion[1](torch.eye(self.size, dtype=torch.float64)).flatten(1).to(device)
        return self._on[device]


@dataclass(frozen=True)
class WhiteNoise:
    """Unknowns that are independent N(0, 1) numbers, for forward maps of ξ itself, such as `model.at(grid, prior=…)`.

    Parameters
    ----------
    size
        The number of unknowns.

    Examples
    --------
    >>> import torch
    >>> from raffia.inverse import InverseProblem, WhiteNoise
    >>> data = torch.ones(1, dtype=torch.float64)
    >>> problem = InverseProblem(lambda xi: xi[:, :1] + xi[:, 1:], WhiteNoise(2), data, noise=0.1)
    >>> problem.size
    2
    """

    size: int

    def __post_init__(self) -> None:
        check_count("WhiteNoise(size=…)", self.size)

    def __call__(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n size"]:
        """ξ."""
        return xi
