"""The Gray–Scott reaction of two substances that diffuse: spots that divide, stripes, waves."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from raffia.measures import Measure, Pushforward
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, NotNegative, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class GrayScott(Evolution, Problem):
    """The Gray–Scott equations on a torus, with the map (u, v)(0) ↦ (u, v)(T) between functions with two channels.

    ∂u/∂t = D_u Δu − uv² + F(1 − u) and ∂v/∂t = D_v Δv + uv² − (F + κ)v. With the defaults, patterns have wavelengths near 0.1
    and take thousands of units of time. Pearson (1993) has other parameters, on a torus of side 2.5. Initial states are
    patches of v: (1 − s/2, s/4) with s = ½ + ½ tanh 4(g − 1) and a Gaussian field g of standard deviation one.

    Parameters
    ----------
    feed, kill
        F and κ.
    diffusion
        (D_u, D_v).
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    tau, regularity
        τ and α of g.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The largest time step.
    domain
        The torus; it sets the dimension.

    Examples
    --------
    >>> from raffia.problems import GrayScott
    >>> a, y = GrayScott(time=4.0).dataset(1, points=16, seed=0)
    >>> y.shape
    torch.Size([1, 2, 16, 16])
    """

    feed: NotNegative = 0.04
    kill: NotNegative = 0.06
    diffusion: tuple[NotNegative, NotNegative] = (2e-5, 1e-5)
    time: Times = 500.0
    tau: Positive = 15.0
    regularity: float = 4.0
    fine_points: FinePoints = 128
    step: Positive = 2.0
    domain: Domain = field(default_factory=lambda: Domain(2))

    @property
    def channels(self) -> int:
        """u and v."""
        return 2

    @property
    def input_measure(self) -> Measure:
        """ν: smooth patches of v in a sea of u."""
        law = self.periodic_field(1.0)

        def patches(g: Tensor) -> Tensor:
            s = 0.5 + 0.5 * torch.tanh(4 * (g - 1))
            return torch.stack([1 - s / 2, s / 4], dim=1)

        return Pushforward(law, patches)

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ = −D|k|² − (F, F + κ) and N = (F − uv², uv²)."""
        losses, channel = (self.feed, self.feed + self.kill), -1 - len(spectrum.grid.shape)
        linear = torch.stack([-d * spectrum.squared - loss for d, loss in zip(self.diffusion, losses, strict=True)])

        def nonlinear(v: Tensor) -> Tensor:
            one, other = spectrum.values(v).unbind(channel)
            made = one * other.square()
            return spectrum.of(torch.stack([self.feed - made, made], dim=channel))

        return linear, nonlinear
