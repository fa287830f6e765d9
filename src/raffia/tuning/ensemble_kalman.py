"""Ensemble Kalman inversion for hyperparameters, without derivatives (Dunbar, Nelsen and Mutic, 2024).

The forward map fits a small model on one half of the samples for each half and returns

    G(u) = [ predictions on the other half ; √(λ/m) ‖α‖/σ ; (log det(I + G/λ))^½ ],      data z = [ y ; 0 ; 0 ],

so that ½‖z − G(u)‖²_Γ is a penalised validation error, with Γ = Cov_θ[G(u₀)] + blockdiag(σ², 1, 1): features are random, and
differences within their scatter count for nothing. It is minimised, with a Gaussian prior on u, by the ensemble transform

    Ω = (I + Δt YᵀΓ⁻¹Y)⁻¹,     U ← ū + X (Δt Ω YᵀΓ⁻¹(z − ḡ) 1ᵀ + √(J − 1) Ω^½),

X and Y the anomalies of u and of G over √(J − 1), with the adaptive step Δt of Iglesias and Yang.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.measures.noise import white_noise
from raffia.progress import Progress
from raffia.tuning.base import History, Search, contestants, defined_start, random_contest, score
from raffia.tuning.objective import Objective

FIRST_DRAW, SPLIT = 500_000, 500_000  # draws of its own, and one split for all, since z must not change


@dataclass(repr=False, eq=False)
class EnsembleKalman(Search):
    """Moves an ensemble of settings towards the data; needs evaluations only, and copes with noise in them.

    Categories are settled first, by the best of `contest_draws` settings from the prior for each combination. The prior has the starting
    value as its mean, and `width` as its standard deviation, as a share of each range. `members` is J, None ten for each unknown, at most
    100; `noise` is σ, relative to the size of each output, and outputs are projected on as many of their leading modes as `modes` says.
    `covariance_draws` draws of θ estimate Cov_θ, and `shrinkage` says how far the estimate is moved to its diagonal.
    """

    iterations: int = 10
    members: int | None = None
    width: float = 0.2
    noise: float = 1e-3
    modes: int = 32
    covariance_draws: int = 50
    shrinkage: float = 0.2
    end_time: float = 1000.0
    inflation: float = 1e-4
    contest_draws: int = 12
    verbose: bool = False

    def steps_for(self, objective: Objective) -> int:
        """Contest, covariance and iterations, one step an evaluation."""
        contest = self.contest_draws * contestants(objective)
        return contest + self.covariance_draws + self.iterations * self._members(objective)

    def search(self, objective: Objective, history: History, progress: Progress) -> None:
        """Contest, then iterations; the mean of the ensemble is scored after each."""
        score(objective, objective.start(), history)
        chosen = random_contest(objective, self.contest_draws, self.width, progress)
        fixed = objective.with_choices(chosen)
        forward = _Forward(fixed, self.noise, self.modes)
        prior_mean, prior_std = fixed.space.line(defined_start(fixed)), self.width * (fixed.space.high - fixed.space.low)
        scatter = []
        for draw in range(FIRST_DRAW, FIRST_DRAW + self.covariance_draws):
            scatter.append(forward(prior_mean, draw))
            progress.step()
        metric = _Metric.of([g for g in scatter if g is not None], forward, self.shrinkage, prior_std)
        members = self._members(fixed)
        ensemble = prior_mean + prior_std * white_noise(members, prior_mean.shape, fixed.seed, "ensemble")
        elapsed = 0.0
        for iteration in range(self.iterations):
            outputs = []
            for member in ensemble:
                outputs.append(forward(member, FIRST_DRAW + self.covariance_draws + iteration))
                progress.step(min(trial.error for trial in history.trials))
            if sum(g is not None for g in outputs) < 2 or elapsed >= self.end_time:
                break
            ensemble, step = _transform(ensemble, _filled(outputs), forward.data, prior_mean, metric, self.end_time - elapsed)
            elapsed += step
            anomalies = white_noise(members, prior_mean.shape, fixed.seed, f"inflation {iteration}")
            ensemble = forward.inside(ensemble + math.sqrt(self.inflation) * prior_std * anomalies)
            trial = score(objective, chosen | fixed.space.numbers(ensemble.mean(0)), history)
            history.curve.append(trial.error)

    def _members(self, objective: Objective) -> int:
        return self.members or min(10 * objective.space.size, 100)


class _Forward:
    """G(u): a fixed split into halves, each predicted by a model trained on the other."""

    def __init__(self, objective: Objective, noise: float, modes: int) -> None:
        self.objective, self.noise = objective, noise
        self.low, self.high = objective.space.low, objective.space.high
        with torch.no_grad():
            targets = objective.sample(objective.start(), FIRST_DRAW, SPLIT).targets.flatten(1)
        half = len(targets) // 2
        self.halves = (slice(0, half), slice(half, 2 * half))
        size = targets.norm(dim=1, keepdim=True)
        if targets.shape[1] == 1:
            size = size.square().mean().sqrt().expand_as(size)
        self.size = torch.where(size > 0, size, size.mean())
        self.basis = torch.linalg.svd(targets, full_matrices=False)[2][:modes].mT
        zeros = targets.new_zeros(2)
        self.data = torch.cat([part for which in self.halves for part in (self._projected(targets, which), zeros)]).cpu()

    def inside(self, u: Tensor) -> Tensor:
        return u.clamp(self.low, self.high)

    @torch.no_grad()
    def __call__(self, u: Float[Tensor, "size"], draw: int) -> Float[Tensor, "outputs"] | None:
        parameters = self.objective.space.numbers(self.inside(u))
        sample = self.objective.sample(parameters, draw, SPLIT)
        m = len(sample.rows)
        parts = []
        for held, kept in (self.halves, self.halves[::-1]):
            solved = sample.solve(kept, parameters["ridge"])
            if solved is None:
                return None
            coef, factor, shift = solved
            predictions = sample.targets.flatten(1).clone()
            predictions[held] = sample.predict(coef, held).flatten(1)
            energy = sample.targets[kept].norm() * self.noise
            size = (shift / m).sqrt() * coef.norm() / energy
            volume = (2 * factor.diagonal().log().sum() - m * shift.log()).clamp(min=0).sqrt()
            parts.append(torch.cat([self._projected(predictions, held), torch.stack([size, volume])]))
        found = torch.cat(parts).cpu()
        return found if torch.isfinite(found).all() else None

    def variances(self) -> Float[Tensor, "outputs"]:
        """blockdiag(σ², 1, 1), once for each half."""
        each = torch.full((len(self.data) // 2,), self.noise**2, dtype=torch.float64)
        each[-2:] = 1.0
        return torch.cat([each, each])

    def _projected(self, functions: Tensor, which: slice) -> Tensor:
        return (functions[which] @ self.basis / self.size[which]).flatten()


@dataclass(frozen=True)
class _Metric:
    """Γ = D + ZZᵀ, applied inverted by the formula of Woodbury, and the covariance of the prior."""

    D: Float[Tensor, "outputs"]
    Z: Float[Tensor, "outputs draws"]
    prior: Float[Tensor, "size"]

    @classmethod
    def of(cls, scatter: list[Tensor], forward: _Forward, shrinkage: float, prior_std: Tensor) -> "_Metric":
        noise = forward.variances()
        if len(scatter) < 2:
            return cls(noise, noise.new_zeros(len(noise), 1), prior_std**2)
        G = torch.stack(scatter, dim=1)
        Z = (G - G.mean(1, keepdim=True)) / math.sqrt(len(scatter) - 1)
        return cls(noise + shrinkage * Z.square().sum(1), math.sqrt(1 - shrinkage) * Z, prior_std**2)

    def inverse(self, Y: Float[Tensor, "outputs columns"]) -> Float[Tensor, "outputs columns"]:
        scaled, W = Y / self.D[:, None], self.Z / self.D[:, None]
        core = torch.eye(self.Z.shape[1], dtype=Y.dtype) + self.Z.mT @ W
        return scaled - W @ torch.linalg.solve(core, self.Z.mT @ scaled)


def _filled(outputs: list[Tensor | None]) -> Float[Tensor, "outputs members"]:
    """Members whose fit failed stand at the mean of the others: they follow, and say nothing."""
    mean = torch.stack([g for g in outputs if g is not None]).mean(0)
    return torch.stack([mean if g is None else g for g in outputs], dim=1)


def _transform(
    ensemble: Float[Tensor, "members size"],
    G: Float[Tensor, "outputs members"],
    data: Float[Tensor, "outputs"],
    prior_mean: Float[Tensor, "size"],
    metric: _Metric,
    time_left: float,
) -> tuple[Float[Tensor, "members size"], float]:
    """One step of ensemble transform Kalman inversion with prior: the unknowns are observed too, at the mean of the prior."""
    U, J, M = ensemble.mT, len(ensemble), len(data)
    X, Y = ((values - values.mean(1, keepdim=True)) / math.sqrt(J - 1) for values in (U, G))
    misfit = data[:, None] - G
    potential = 0.5 * (misfit * metric.inverse(misfit)).sum(0)
    spread = float(potential.var())
    step = min(max(M / (2 * float(potential.mean())), math.sqrt(M / (2 * spread)) if spread > 0 else 0.0), time_left)
    weighted = metric.inverse(Y)
    hessian = Y.mT @ weighted + X.mT @ (X / metric.prior[:, None])
    gradient = weighted.mT @ (data - G.mean(1)) + X.mT @ ((prior_mean - U.mean(1)) / metric.prior)
    s, V = torch.linalg.eigh(torch.eye(J, dtype=U.dtype) + step * hessian)
    omega, root = (V / s) @ V.mT, (V / s.sqrt()) @ V.mT
    moved = U.mean(1, keepdim=True) + X @ (step * (omega @ gradient)[:, None] + math.sqrt(J - 1) * root)
    return moved.mT.contiguous(), step
