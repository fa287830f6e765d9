"""What samplers give: draws of many chains, how they were made, and how far they can be trusted."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError

AT_ONCE = 4096
LEAST_ACCEPTANCE = 0.01  # share of proposals; a warning is given below it


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """Samples of ξ from a posterior, by many Markov chains.

    Attributes
    ----------
    draws
        ξ, of shape (chains, draws, size).
    misfits
        Φ of each draw, of shape (chains, draws).
    acceptance
        The share of proposals that were accepted after burning in.
    step
        The step β.
    solves
        The number of evaluations of the forward map.
    proposals
        The number of proposals.
    seconds
        The time.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, pcn
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> chains = pcn(problem, steps=20, chains=4, burn_in=20)
    >>> chains.mean(prior).shape, chains.std(prior).shape
    (torch.Size([16]), torch.Size([16]))
    """

    draws: Float[Tensor, "chains draws size"]
    misfits: Float[Tensor, "chains draws"]
    """Φ of each draw."""
    acceptance: float
    """The share of proposals that were accepted after burning in; with delayed acceptance, of those that the true solver judged."""
    step: float
    """β, as it was after burning in, and fixed from there on."""
    solves: int
    """How often the forward map was evaluated for a chain; with delayed acceptance, the true one."""
    proposals: int
    """How many proposals there were, those of burning in included."""
    seconds: float

    def __post_init__(self) -> None:
        if self.acceptance < LEAST_ACCEPTANCE:
            warnings.warn(
                f"the acceptance rate is {self.acceptance:.2g} with step={self.step:.2g}: chains hardly moved, so their draws do not "
                f"represent the posterior. Pass a smaller step, such as step={self.step / 10:.1g}, a longer burn_in, which adapts the "
                "step, or reference=laplace(problem).",
                stacklevel=4,
            )

    def mean(self, of: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """The mean of of(ξ) over all draws, of ξ itself if None; `of` is the prior, or any other map of batches."""
        return self._moments(of)[0]

    def std(self, of: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """The standard deviation of each number of of(ξ)."""
        return self._moments(of)[1]

    def rhat(self) -> Float[Tensor, "size"]:
        """Rank-normalised split R̂ of each coordinate (Vehtari, Gelman, Simpson, Carpenter & Bürkner, 2021), by ArviZ.

        It is near 1 where chains have met; 1.01 or 1.05 are common limits. It is infinite or huge where no chain moves and chains
        differ, and NaN where all draws are equal, for a single chain, and for fewer than four draws.
        """
        return self._computed("rhat")

    def ess(self) -> Float[Tensor, "size"]:
        """The number of independent draws that would estimate the mean of each coordinate as well as all chains do, by ArviZ."""
        return self._computed("ess")

    def to_arviz(self, **functions: Callable[[Tensor], Tensor]) -> Any:
        """An ArviZ `InferenceData` with ξ, and with maps of it under the names given: to_arviz(a=prior)."""
        posterior = {"xi": self.draws.numpy(force=True)}
        for name, of in functions.items():
            parts = [self._mapped(of, part) for part in self.draws.flatten(0, 1).split(AT_ONCE)]
            values = torch.cat(parts)
            posterior[name] = values.reshape(*self.draws.shape[:2], *values.shape[1:]).numpy(force=True)
        stats = {"misfit": self.misfits.numpy(force=True)}
        return _arviz().from_dict(
            posterior=posterior, sample_stats=stats, attrs={"step": self.step, "acceptance": self.acceptance}
        )

    def _computed(self, name: str) -> Float[Tensor, "size"]:
        """One of ArviZ's statistics of each coordinate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of divisions by the variance of chains that do not move
            values = getattr(_arviz(), name)(self.to_arviz())["xi"].values
        return torch.from_numpy(np.asarray(values, dtype=float))

    def _moments(self, of: Callable[[Tensor], Tensor] | None) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation, by sums of what is off the first draw, so that nothing cancels."""
        flat = self.draws.flatten(0, 1)
        origin = self._mapped(of, flat[:1])[0]
        total, squares = torch.zeros_like(origin), torch.zeros_like(origin)
        for part in flat.split(AT_ONCE):
            off = self._mapped(of, part) - origin
            total, squares = total + off.sum(0), squares + off.square().sum(0)
        mean = total / len(flat)
        return origin + mean, ((squares / len(flat) - mean.square()).clamp(min=0) * len(flat) / max(1, len(flat) - 1)).sqrt()

    @staticmethod
    @torch.no_grad()
    def _mapped(of: Callable[[Tensor], Tensor] | None, part: Tensor) -> Tensor:
        return part if of is None else of(part)


def _arviz() -> Any:
    """Import ArviZ without the warning that announces its next version; raise an error if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
    except ImportError:
        raise RaffiaError("this needs ArviZ, which is not installed: pip install 'raffia[inverse]'.") from None
    return arviz
