"""Galerkin features: a linear equation whose coefficients are made of the input, solved among functions that outputs are made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, channelled, per_channel
from raffia.features.equations import coefficient_fields, found
from raffia.features.weak_form import WeakForm
from raffia.spaces import Boundary, Domain, Nodes, Space, interpolate

Numbers = float | Float[Tensor, "..."]
SOLVED = 64  # samples whose equations are held at once


@dataclass(repr=False, eq=False)
class GalerkinFeatures(FeatureMap):
    """Solutions of a linear equation whose coefficients are functions of the input, by Galerkin's method.

    φ(a; θ) = Σ_k u_k ψ_k with (A(a) + C) u = f_θ + g(a),  A(a)_jk = ∫ α ψ_j ψ_k + β ∇ψ_j·∇ψ_k,  g(a)_j = −∫ γ ψ_j.

    α, β and γ are polynomials of q = (a − shift)/scale. f_θ = f + spread · J ξ_θ is a random load. Features are linear in
    f_θ, so a trained model is one equation, and r + 1 features are as good as more.

    They represent stationary linear equations of second order with the input as a coefficient or source: waves that resonate
    (Helmholtz is β = 1, α = −(ω/a)²) and diffusion. They do not represent nonlinear equations, or flows over a time.

    Good values: `suited(a, y, domain)`, which estimates all of them from pairs without a search, and normalize=False.
    Leave-one-out errors on these pairs are too small. `raffia.fit` therefore estimates them again in each fold.

    Parameters
    ----------
    mass, stiffness, source
        The coefficients of α, β and γ: of 1 (not in γ), of q for each channel, of q², ….
    spread, load, loads
        spread, f and J.
    shift, scale
        The normalisation of the input.
    basis
        ψ_1 … ψ_r on a grid, (r, *grid).
    correction
        C.
    boundary
        The boundary condition: one for all axes, or one for each.
    bounds
        The ranges of α and β, (2, 2). Outside them a polynomial could change its sign.
    limit
        The largest norm of the coefficients of a solution with the load f. For inputs where it is larger, the equation is
        nearly singular, and all solutions are scaled down.
    domain
        The space of the inputs.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.features import GalerkinFeatures
    >>> a = GaussianField(n_modes=8).sample(40, Domain(1).grid(32), seed=0)
    >>> features = GalerkinFeatures.suited(a, a.roll(1, 1), Domain(1))
    """

    normalized: ClassVar[bool] = False
    fitted_to_data: ClassVar[bool] = True

    mass: Float[Tensor, "powers"] | None = None
    stiffness: Float[Tensor, "powers"] | None = None
    source: Float[Tensor, "fewer"] | None = None
    spread: Numbers = 0.1
    shift: Numbers = 0.0
    scale: Numbers = 1.0
    basis: Float[Tensor, "r *grid"] | None = None
    load: Float[Tensor, "r"] | None = None
    loads: Float[Tensor, "r r"] | None = None
    correction: Float[Tensor, "r r"] | None = None
    boundary: Boundary | tuple[Boundary, ...] = "neumann"
    domain: Space = field(default_factory=lambda: Domain(2, periodic=False))
    bounds: Float[Tensor, "2 2"] | None = None
    limit: Numbers | None = None

    @classmethod
    def suited(cls, a: Tensor, y: Tensor, domain: Space, **more: Any) -> "GalerkinFeatures":
        """The equation that pairs satisfy best, among the principal components of their outputs; `raffia.features.equations` says how."""
        return cls(**found(a, y, domain)[0] | {"domain": domain} | more)

    @property
    def theta_shape(self) -> tuple[int]:
        """A random load."""
        return (len(self._given("basis")),)

    @property
    def work_per_value(self) -> int:
        """Equations are assembled for every sample: as much as for many features."""
        return 24

    def prepare(self, theta: Float[Tensor, "m r"], grid: Nodes) -> tuple[Tensor, Tensor]:
        """The loads, and that each has all of g(a)."""
        load, loads = (self._given(name).to(theta) for name in ("load", "loads"))
        return load + self.spread * theta @ loads.mT, torch.ones_like(theta[:, 0])

    def combination(self, theta: Tensor, coef: Float[Tensor, "m *columns"], grid: Nodes) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) is one equation, with the sum of their loads and coef's sum of g(a)."""
        loads, ones = self.prepare(theta, grid)
        columns = coef.reshape(len(coef), -1)
        summed = (columns.mT @ loads, columns.mT @ ones)
        return lambda a: self.evaluate(a, summed) if coef.ndim > 1 else self.evaluate(a, summed)[:, 0]

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Some samples at a time: assembled, solved, and carried to the grid of a."""
        basis = self._given("basis").to(a)
        grid, target = self.region.grid_of(basis), self.region.grid_of(a)
        form = WeakForm.of(basis, grid, self.boundary)
        u = torch.cat([self._solved(form, interpolate(some, target, grid), prepared) for some in a.split(SOLVED)])
        return torch.einsum("nmr,r...->mn...", u, interpolate(basis, grid, target)).transpose(0, 1)

    def _solved(self, form: WeakForm, a: Tensor, prepared: Prepared) -> Float[Tensor, "n m r"]:
        """The coefficients of the solutions."""
        fixed = self._given("load").to(a)
        loads, shares = torch.cat([prepared[0], fixed[None]]), torch.cat([prepared[1], torch.ones_like(fixed[:1])])
        channels, count = channelled(a, self.domain), self.domain.channels
        q = (channels - per_channel(self.shift, channels)) / per_channel(self.scale, channels)
        mass, stiffness, source = (self._given(name).to(a) for name in ("mass", "stiffness", "source"))
        powers = form.powers(q, len(source) // count)
        if not len(powers) == len(mass) == len(stiffness) == 1 + len(source):
            raise RaffiaError(
                f"GalerkinFeatures(mass=…, stiffness=…, source=…) must have 1 + p, 1 + p and p numbers, p a multiple of {count}, the "
                f"channels; got {len(mass)}, {len(stiffness)} and {len(source)}."
            )
        matrices = form.matrices(*coefficient_fields(torch.cat([mass, stiffness]), powers, self.bounds))
        if self.correction is not None:
            matrices = matrices + self.correction.to(a)
        driven = -sum(
            (c * part for c, part in zip(source, form.sources(powers), strict=True)),
            torch.zeros_like(a[:, :1].flatten(1)[:, :1]),
        )
        u = torch.linalg.solve(matrices, (loads + driven[:, None] * shares[:, None]).mT).mT
        if self.limit is None:
            return u[:, :-1]
        return u[:, :-1] * (self.limit / u[:, -1:].norm(dim=-1, keepdim=True)).clamp(max=1.0)

    def _given(self, name: str) -> Tensor:
        value = getattr(self, name)
        if value is None:
            raise RaffiaError(f"GalerkinFeatures needs {name}=…: make them of pairs, by GalerkinFeatures.suited(a, y, domain).")
        return value
