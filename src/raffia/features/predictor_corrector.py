"""Predictor–corrector random features for Darcy flow (eqn:rf_predictor_corrector). They contain the PDE."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, FeatureMap, Prepared, Range, sum_of
from raffia.measures import GaussianField
from raffia.spaces import Domain, Grid, resample
from raffia.spaces.calculus import heat, inner, inner_gradient, inner_poisson
from raffia.transforms import is_abstract

Number = float | Float[Tensor, ""]


@dataclass(repr=False, eq=False)
class PredictorCorrectorFeatures(FeatureMap):
    """A few steps of an iteration for −∇·(a∇u) = f with random terms: the features of the paper for Darcy flow.

    φ(a; θ) = p_steps, with −Δp₀ = s₀ and −Δp_k = s_k + ∇log a_ε · ∇p_{k−1}, p = 0 on the boundary.

    The sources are s_k = f/a + w·σ(θ_k) ("additive", the paper's with w = 1) or f/a · (1 + w·σ(θ_k)) ("multiplicative"), with
    σ(r) = (s⁺ − s⁻)/(1 + e^(−r/δ)) + s⁻ and θ_k ~ N(0, τ² (−Δ + τ²)^(−α)) with Neumann conditions. a_ε is a after the heat flow
    ∂v/∂t = ηΔv for one unit of time.

    Without the random terms they are an iteration for −∇·(a∇u) = f with a given source f. They are affine in σ(θ_k), so a trained model
    takes `steps` + 1 Poisson solves for any number of features.

    This implementation follows the text of the paper. The authors' code differs: it computes the heat flow by 33 explicit Euler steps of
    0.03 (here exactly, to time 1), and draws θ with twice the variance of the axis modes. As in their code, only log a is smoothed, f/a
    uses a without smoothing, and right-hand sides are not used on the boundary.

    Good values: the defaults, which are the paper's, for a ∈ {3, 12}: s_plus = 1/max a, s_minus = −1/min a. More steps are more accurate
    while the iteration converges, for moderate contrast. "multiplicative" needs eta near 1e-5 and ridge near 1e-10.

    Parameters
    ----------
    source
        f, a number or a function on any grid.
    tau, regularity, n_modes
        τ, α and the number of modes of the random fields θ_k.
    s_plus, s_minus, delta
        s⁺, s⁻ and δ of σ.
    eta
        η, the smoothing of log a.
    steps
        The number of corrector steps.
    randomisation, weight
        "additive" or "multiplicative", and w.
    domain
        A square.

    Examples
    --------
    >>> from raffia import PredictorCorrectorFeatures, RandomFeatureModel
    >>> model = RandomFeatureModel(PredictorCorrectorFeatures(), n_features=256, ridge=1e-8)
    """

    normalized: ClassVar[bool] = False

    source: Number | Float[Tensor, "r1 r2"] = 1.0
    tau: Number = 7.5
    regularity: Number = 2.0
    s_plus: Number = 1 / 12
    s_minus: Number = -1 / 3
    delta: Number = 0.15
    eta: Number = 1e-4
    steps: int = 1
    randomisation: Literal["additive", "multiplicative"] = "additive"
    weight: Number = 1.0
    n_modes: int = 1024
    domain: Domain = field(default_factory=lambda: Domain(2, periodic=False))

    @property
    def theta_shape(self) -> tuple[int, int]:
        """The Neumann coefficients of one field for each Poisson solve."""
        return (self.steps + 1, self.n_modes)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The distribution and size of the random fields, the smoothing of a, and the number of steps."""
        unit = self.domain.longest
        return {
            "tau": Range(0.5 / unit, 50.0 / unit),
            "regularity": Range(1.1, 6.0),
            "delta": Range(1e-2, 3.0),
            "eta": Range(1e-7 * unit**2, 1e-2 * unit**2),
            "weight": Range(1e-2, 1e2),
            "randomisation": Choice(("multiplicative", "additive")),
            "steps": Choice((3, 1)),
        }

    def prepare(self, theta: Float[Tensor, "m solves modes"], grid: Grid) -> tuple[Tensor, Tensor]:
        """The random part of the predictor, and σ(θ_k) for the correctors, at inner nodes.

        For multiplicative sources the first is σ(θ₀). For additive ones p₀ splits into a part of a and a part of θ, and the
        first is that of θ, (−Δ)⁻¹σ(θ₀), or its gradient where a corrector follows: one Poisson solve a pair is saved.
        """
        sigma = self._sigma(theta, grid)
        if self.randomisation == "multiplicative":
            return sigma[:, 0], sigma[:, 1:]
        predictor = inner_poisson(sigma[:, 0], grid)
        return (inner_gradient(predictor, grid) if self.steps else predictor), sigma[:, 1:]

    def evaluate(self, a: Float[Tensor, "n r1 r2"], prepared: Prepared) -> Float[Tensor, "n m r1 r2"]:
        """The iteration is linear in its sources: a deterministic part for each input, and a random part for each pair."""
        grid = self.domain.grid_of(a)
        ratio, slope = self._ratio(a, grid), self._slope(a, grid)
        predictor, sigma = prepared
        multiplied = self.randomisation == "multiplicative"
        p = flow = predictor[:, None]
        if multiplied:
            p = inner_poisson(ratio * p, grid)
            flow = inner_gradient(p, grid) if self.steps else p
        for k in range(self.steps):
            source = ratio * sigma[:, None, k] if multiplied else sigma[:, None, k]
            p = inner_poisson(_advect(slope, flow) + source, grid)
            flow = inner_gradient(p, grid) if k + 1 < self.steps else p
        fixed = self._iterate([ratio] * (self.steps + 1), slope, grid)
        return (p + fixed).transpose(0, 1)

    def combination(
        self, theta: Float[Tensor, "m solves modes"], coef: Float[Tensor, "m"], grid: Grid
    ) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) is the iteration with sources averaged over the features: Σ_j coef_j σ(θ_jk), made once."""
        total = coef.sum()
        size = max(1, 2**22 // (grid.size * (self.steps + 1)))
        parts = zip(theta.split(size), coef.split(size), strict=True)
        mean = sum_of(torch.einsum("j,jk...->k...", c, self._sigma(t, grid)) for t, c in parts)

        def combined(a: Float[Tensor, "n r1 r2"]) -> Float[Tensor, "n r1 r2"]:
            ratio, multiplied = self._ratio(a, grid), self.randomisation == "multiplicative"
            sources = [ratio * (total + field) if multiplied else total * ratio + field for field in mean]
            return self._iterate(sources, self._slope(a, grid), grid)

        return combined

    def surrogate(self, a: Float[Tensor, "n r1 r2"]) -> Float[Tensor, "n r1 r2"]:
        """The deterministic iteration, all random terms left out: already an approximation of u."""
        grid = self.domain.grid_of(a)
        return self._iterate([self._ratio(a, grid)] * (self.steps + 1), self._slope(a, grid), grid)

    def _iterate(self, sources: list[Tensor], slope: Tensor, grid: Grid) -> Tensor:
        p = inner_poisson(sources[0], grid)
        for source in sources[1:]:
            p = inner_poisson(_advect(slope, inner_gradient(p, grid)) + source, grid)
        return p

    def _sigma(self, theta: Float[Tensor, "m solves modes"], grid: Grid) -> Float[Tensor, "m solves inner1 inner2"]:
        """weight · σ(θ) at inner nodes   (eqn:sigmoidal_func_defn)."""
        smoothed = bool(torch.as_tensor(self.eta, dtype=torch.float64).detach() >= 0)
        known = self.steps >= 0 and self.randomisation in ("additive", "multiplicative")
        if not (self.domain.dim == 2 and self.domain.boxed and smoothed and known):
            raise RaffiaError(
                "PredictorCorrectorFeatures needs Domain(2, periodic=False), eta >= 0, steps >= 0 and randomisation 'additive' or "
                f"'multiplicative'; got {self!r}."
            )
        fields = GaussianField(self.domain, "neumann", self.tau, self.regularity, self.n_modes)(theta, grid)
        return self.weight * ((self.s_plus - self.s_minus) * torch.sigmoid(inner(fields, grid) / self.delta) + self.s_minus)

    def _ratio(self, a: Tensor, grid: Grid) -> Float[Tensor, "n inner1 inner2"]:
        """f/a at inner nodes, with the raw a."""
        if not is_abstract(a) and not (a > 0).all():
            raise RaffiaError("PredictorCorrectorFeatures needs a strictly positive a: pass exp of a log-permeability.")
        f = torch.as_tensor(self.source, dtype=a.dtype, device=a.device)
        if f.ndim and tuple(f.shape) != grid.shape:
            f = resample(f, self.domain.grid_of(f), grid)
        return inner(f.expand(grid.shape), grid) / inner(a, grid)

    def _slope(self, a: Tensor, grid: Grid) -> Float[Tensor, "n 2 inner1 inner2"]:
        """∇log a_ε at inner nodes   (eqn:heat_mollify_neumann)."""
        return inner_gradient(heat(a, grid, self.eta).log(), grid)


def _advect(slope: Float[Tensor, "n 2 i1 i2"], grad: Float[Tensor, "*m_and_n 2 i1 i2"]) -> Float[Tensor, "*m_and_n2 i1 i2"]:
    """∇log a · ∇p for every pair."""
    return torch.addcmul(slope[:, 0] * grad[..., 0, :, :], slope[:, 1], grad[..., 1, :, :])
