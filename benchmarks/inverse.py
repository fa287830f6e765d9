"""Inverse problems by a surrogate and by the true solver: are their posteriors one, and what does either take?

Burgers: u(·, 0) from 20 values of u(·, 1). Darcy: log a from 32 values of u. Noise is 1 % of the size of the values.

python benchmarks/inverse.py burgers                                           # 64 chains of 10,000 steps by a surrogate
python benchmarks/inverse.py burgers --by true --chains 1024 --steps 2000 --write   # the posterior that others are compared with
python benchmarks/inverse.py burgers --by delayed --inner 4 --steps 2000
python benchmarks/inverse.py darcy --by true --chains 256 --steps 500 --burn-in 100 --keep-every 1 --write --device cuda
python benchmarks/inverse.py darcy --device cuda
python benchmarks/inverse.py darcy --by delayed --inner 4 --chains 256 --steps 300 --burn-in 100 --keep-every 1 --device cuda
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from raffia import Burgers, Darcy, FourierFeatures, PredictorCorrectorFeatures, RandomFeatureModel, metrics, resample
from raffia.inverse import (
    InverseProblem,
    Prior,
    delayed_acceptance,
    laplace,
    maximum_a_posteriori,
    pcn,
    point_values,
    surrogate_error,
)

FACTS = Path(__file__).parent / "facts"
NOISE, TRUTH = 0.01, 2  # of the size of values; the seed of the truth and of the noise


@dataclass(frozen=True)
class Case:
    """What is learnt, what is sought, and what is seen of it."""

    pairs: object
    """The problem as training pairs are made, and the data."""
    solver: object
    """The same as chains solve it: no finer than the noise asks for."""
    points: int
    """Of the surrogate and of the unknown, along an axis."""
    solved_on: int
    n_train: int
    model: RandomFeatureModel
    positions: torch.Tensor


def interior(count):
    """Positions in the unit square, away from its boundary, that no grid has: an additive recurrence."""
    golden = 1.32471795724474602596
    steps = torch.arange(1, count + 1, dtype=torch.float64)[:, None] * torch.tensor([1 / golden, 1 / golden**2]).double()
    return 0.1 + 0.8 * (steps % 1)


def burgers(device):
    gelu = FourierFeatures(profile="matern", activation="gelu", amplitude=2.0, bias=0.5, tau=10.0)
    model = RandomFeatureModel(gelu, 256, "auto", coefficients="modal", normalize=True, device=device)
    positions = torch.arange(20, dtype=torch.float64) / 20
    return Case(Burgers(), Burgers(fine_points=128, step=1 / 32), 64, 128, 1024, model, positions)


def darcy(device):
    features = PredictorCorrectorFeatures(steps=3, randomisation="multiplicative", eta=1e-5)
    model = RandomFeatureModel(features, 128, 1e-10, device=device)
    solver = Darcy(law="lognormal", n_modes=400, fine_points=33)
    return Case(solver, solver, 33, 33, 256, model, interior(32))


class Setting:
    """The inverse problems of a case, by its surrogate and by its solver, in the same coordinates."""

    def __init__(self, case, device):
        domain, law = case.pairs.domain, case.pairs.input_measure
        grid, fine = domain.grid(case.points), domain.grid(case.solved_on)
        fields = getattr(law, "of", law)
        self.case, self.device = case, device
        self.prior = Prior(law, grid)
        over = law if fields is law else Prior(law, fine)
        rows = fields.sample(1, domain.grid(4 * case.points - 3 if case.points % 2 else 4 * case.points), TRUTH)
        whole = rows if fields is law else law.by(rows)
        self.truth = resample(rows, domain.grid_of(rows), grid)[0]
        values = point_values(domain.grid_of(whole), case.positions) @ case.pairs.solve(whole)[0].flatten()
        self.noise = NOISE * float(values.square().mean().sqrt())
        generator = torch.Generator().manual_seed(TRUTH)
        self.data = values + self.noise * torch.randn(len(values), generator=generator, dtype=torch.float64)
        self.seen, self.seen_fine = point_values(grid, case.positions), point_values(fine, case.positions)
        if fields is law:  # modes of the surrogate's grid, on the solver's
            self.true = self._problem(lambda a: case.solver.solve(resample(a, grid, fine)), self.prior, self.seen_fine)
        else:
            assert over.size == self.prior.size
            self.true = self._problem(case.solver.solve, over, self.seen_fine)

    def _problem(self, forward, prior, seen, error=None):
        return InverseProblem(forward, prior, self.data, self.noise, seen, error, self.device)

    def surrogate(self, error):
        """The problem by a model trained here, with its error in the likelihood if asked for."""
        case, begun = self.case, time.perf_counter()
        pairs = case.pairs.dataset(case.n_train, case.points, seed=0)
        made = time.perf_counter() - begun
        model = case.model.fit(pairs.a, pairs.y)
        fitted = time.perf_counter() - begun - made
        test = case.pairs.dataset(200, case.points, seed=1)
        off = metrics.relative_error(test.y, model.predict(test.a))
        moment = surrogate_error(model.predict, test.a, test.y, self.seen)
        seen = float(moment.diagonal().mean().sqrt()) / self.noise
        print(
            f"surrogate: {case.n_train} pairs in {made:.1f} s, trained in {fitted:.1f} s, error {off:.2e}, {seen:.2f} of the noise "
            "where observed",
            flush=True,
        )
        return self._problem(model.predict, self.prior, self.seen, moment if error else None)


def described(chains, ess, field):
    """What chains know of the field: mean and standard deviation, of it and of its coordinates."""
    found = {"mean": chains.mean(field), "std": chains.std(field), "xi_mean": chains.mean(), "xi_std": chains.std()}
    return {name: value.cpu().numpy() for name, value in found.items()} | {"ess": ess.numpy()}


def compare(mine, facts):
    """Distances between two posteriors, in per cent of the second, and in standard errors of the coordinates."""
    apart = {name: float(np.linalg.norm(mine[name] - facts[name]) / np.linalg.norm(facts[name])) for name in ("mean", "std")}
    error = np.sqrt(mine["xi_std"] ** 2 / mine["ess"] + facts["xi_std"] ** 2 / facts["ess"])
    scores = (mine["xi_mean"] - facts["xi_mean"]) / error
    ratio = mine["std"] / facts["std"] - 1
    print(
        f"against the true solver's posterior: mean {apart['mean']:.2%}, std {apart['std']:.2%} (pointwise {ratio.min():+.1%} to "
        f"{ratio.max():+.1%}); coordinates off by {np.sqrt((scores**2).mean()):.2f} standard errors (rms), {abs(scores).max():.1f} at most",
        flush=True,
    )


def main(asked):
    setting = Setting({"burgers": burgers, "darcy": darcy}[asked.problem](asked.device), asked.device)
    cheap = setting.surrogate(asked.error)
    wanted = setting.true if asked.by == "true" else cheap
    for method in ("l-bfgs", "gauss-newton"):
        begun = time.perf_counter()
        best = maximum_a_posteriori(cheap, method=method)
        print(
            f"{method}: {time.perf_counter() - begun:.2f} s, {best.iterations} iterations, objective {best.objective:.4f}, misfit "
            f"{best.misfit:.2f}, converged {best.converged}",
            flush=True,
        )
    begun = time.perf_counter()
    about = laplace(cheap, best.xi)
    print(
        f"laplace: {time.perf_counter() - begun:.2f} s, eigenvalues {about.values[0]:.3g} to {about.values[-1]:.3g}", flush=True
    )
    how = {
        "chains": asked.chains,
        "burn_in": asked.burn_in,
        "reference": about,
        "keep_every": asked.keep_every,
        "seed": asked.seed,
    }
    if asked.by == "delayed":
        chains = delayed_acceptance(setting.true, cheap, asked.steps, inner=asked.inner, **how)
    else:
        chains = pcn(wanted, asked.steps, **how)
    rhat, ess = chains.rhat(), chains.ess()
    print(
        f"{asked.by}, {asked.chains} chains of {asked.burn_in} + {asked.steps} steps: {chains.seconds:.1f} s, β {chains.step:.3f}, "
        f"acceptance {chains.acceptance:.3f}, R̂ at most {float(rhat.max()):.4f}, ESS {float(ess.min()):.0f} to {float(ess.max()):.0f}, "
        f"{chains.solves} solves for {chains.proposals} proposals, {float(ess.min()) / chains.solves:.3f} independent draws a solve",
        flush=True,
    )
    mine = described(chains, ess, setting.prior.field)
    apart, size = np.abs(mine["mean"] - setting.truth.numpy()), np.linalg.norm(setting.truth.numpy())
    inside = np.mean(apart < 2 * mine["std"])
    print(f"the truth is {np.linalg.norm(apart) / size:.1%} off the mean, {inside:.0%} of it within two standard deviations")
    gauss = about.std(setting.prior.field).cpu().numpy()
    print(f"the std of Laplace's approximation is {np.linalg.norm(gauss - mine['std']) / np.linalg.norm(mine['std']):.1%} off")
    path = asked.facts / f"inverse-{asked.problem}.npz"
    if asked.write:
        path.parent.mkdir(parents=True, exist_ok=True)
        about_it = {"chains": asked.chains, "steps": asked.steps, "rhat": float(rhat.max()), "acceptance": chains.acceptance}
        about_it |= {"solves": chains.solves, "seconds": chains.seconds, "draws_a_solve": float(ess.min()) / chains.solves}
        saved = {name: value.astype(np.float32) for name, value in mine.items()}
        np.savez_compressed(path, **saved, data=setting.data.numpy(), settings=json.dumps(about_it))
        print(f"wrote {path}, {path.stat().st_size / 1024:.0f} kB")
    elif path.exists():
        facts = np.load(path)
        compare(mine, facts)
        before = json.loads(str(facts["settings"])).get("draws_a_solve")
        if asked.by == "delayed" and before:
            ratio = float(ess.min()) / chains.solves / before
            print(f"an independent draw takes {ratio:.1f} times fewer solves than without the surrogate")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=["burgers", "darcy"])
    parser.add_argument("--by", choices=["surrogate", "true", "delayed"], default="surrogate")
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--burn-in", type=int, default=500)
    parser.add_argument("--keep-every", type=int, default=10)
    parser.add_argument("--inner", type=int, default=1, help="steps of the surrogate before the true solver judges")
    parser.add_argument("--error", action="store_true", help="add the surrogate's error to the noise")
    parser.add_argument("--write", action="store_true", help="keep this posterior, for others to be compared with")
    parser.add_argument("--facts", type=Path, default=FACTS, help="the folder of such posteriors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    main(parser.parse_args())
