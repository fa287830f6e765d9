"""Models of one time step, composed: APEBench's scenarios in one dimension, and decaying Navier–Stokes flow.

python benchmarks/time.py --only burgers kdv ks --seeds 2
python benchmarks/time.py --only navier-stokes --trajectories 100 --device cuda
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch

import raffia
from raffia.data import write_trajectories
from raffia.problems import NavierStokes, Scenario

SCENARIOS = {
    "burgers": Scenario(),
    "kdv": Scenario((0.0, 0.0, 0.0, -14.0, -9.0), -2.0),
    "ks": Scenario((0.0, 0.0, -2.0, 0.0, -18.0), -1.0, warm_up=500),
}
FLOW = NavierStokes(viscosity=1e-3, forcing=None, deviation=2.0)


def fitted(problem, points, u, dt, seed, device):
    """A surrogate of the step of a file of trajectories, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.npz"
        write_trajectories(path, u, problem.domain.grid(points), dt, {})
        begun = time.perf_counter()
        return raffia.fit(path, seed=seed, device=device), time.perf_counter() - begun


def errors_of(model, truth):
    """The mean relative error after each step, over trajectories."""
    path = torch.as_tensor(model.rollout(truth[:, 0], truth.shape[1] - 1))
    off, size = ((f.flatten(2)[:, 1:]).norm(dim=-1) for f in (path - truth, truth))
    return (off / size).mean(0)


def scenario(name, seed, device):
    problem = SCENARIOS[name]
    train = problem.trajectories(50, 160, 50, 1.0, seed=10 * seed)
    test = problem.trajectories(30, 160, 200, 1.0, seed=10 * seed + 1)
    found, seconds = fitted(problem, 160, train, 1.0, seed, device)
    errors = errors_of(found.model, test)
    mean = float(errors[:100].log().mean().exp())
    print(
        f"{name}, seed {seed}: {found.contest.best.candidate.name}, {seconds:.1f} s; one step {float(errors[0]):.2e}, geometric mean over "
        f"100 steps {mean:.2e}, after 200 {float(errors[199]):.2e}, bounded {found.rollout.bounded}",
        flush=True,
    )


def flow(trajectories, seed, device):
    train = FLOW.trajectories(trajectories, 64, 10, 0.1, seed=2 * seed)
    test = FLOW.trajectories(20, 64, 100, 0.1, seed=2 * seed + 1)
    found, seconds = fitted(FLOW, 64, train, 0.1, seed, device)
    errors = errors_of(found.model, test)
    shown = ", ".join(f"{float(errors[step - 1]):.4f} after {step}" for step in (1, 5, 10, 30, 100))
    print(
        f"navier-stokes, {trajectories} trajectories, seed {seed}: {found.contest.best.candidate.name}, {seconds:.1f} s; {shown}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(SCENARIOS), choices=[*SCENARIOS, "navier-stokes"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trajectories", type=int, default=100, help="of Navier–Stokes flow")
    parser.add_argument("--device", default=None)
    asked = parser.parse_args()
    for name in asked.only:
        for seed in range(asked.seeds):
            if name == "navier-stokes":
                flow(asked.trajectories, seed, asked.device)
            else:
                scenario(name, seed, asked.device)
