"""Strides that are found where noise hides a step, beside single steps: errors of models composed over sixty steps.

python benchmarks/strides.py
"""

import torch

from raffia import Burgers, Dataset, LocalFeatures, RandomFeatureModel
from raffia.problems import KortewegDeVries, KuramotoSivashinsky

STEPS, TRAINED, PAIRS = 60, 24, 400
CASES = {"Burgers": (Burgers(viscosity=0.02, fine_points=64), 0.005), "Korteweg–de Vries": (KortewegDeVries(), 0.002),
         "Kuramoto–Sivashinsky": (KuramotoSivashinsky(), 0.05)}  # fmt: skip


def main() -> None:
    """A row for each equation, size of noise beside the deviation of states, and seed of it."""
    for name, (problem, dt) in CASES.items():
        clean = problem.trajectories(40, 64, STEPS, dt, seed=0)
        for size in (0.0, 0.001, 0.01, 0.03):
            for seed in range(3 if size else 1):
                noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
                u = clean + size * clean.std() * noise
                found = Dataset.of_trajectories(u, problem.domain).along.stride
                errors = {stride: f"{composed(u, clean, stride, problem.domain):.2g}" for stride in (1, found)}
                print(f"{name}, noise {size:g}, seed {seed}: error by stride {errors}", flush=True)


def composed(u: torch.Tensor, clean: torch.Tensor, stride: int, domain: object) -> float:
    """The mean relative error on trajectories without noise, after sixty steps or the last whole stride."""
    data = Dataset.of_trajectories(u[:TRAINED], domain, stride=stride)
    some = slice(None, None, max(1, len(data) // PAIRS))
    model = RandomFeatureModel(LocalFeatures(domain=domain), 48, "auto", coefficients="modal", normalize=True)
    path = model.fit(data.a[some], data.y[some]).compose(clean[TRAINED:, 0], STEPS // stride)
    truth = clean[TRAINED:, STEPS // stride * stride]
    return float(((path - truth).norm(dim=1) / truth.norm(dim=1)).mean())


if __name__ == "__main__":
    main()
