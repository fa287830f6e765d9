"""Which features suit which problem: every family of a contest on generated problems, its error and seconds, and the surrogate's.

    python benchmarks/families.py [--device cuda] [--only NAME …] [--seeds 1] [--effort normal] [--processes 1] [--finer 65 129]

Errors of families are those on the pairs that the contest judges by; the last is the surrogate's, on 200 pairs of another seed.
"""

import argparse
import multiprocessing
import time
import warnings

import numpy as np
import torch

import raffia
from raffia import Burgers, Darcy, Dataset
from raffia.problems import Advection, Helmholtz, NavierStokes

TESTS, TEST_SEED = 200, 10_000
PROBLEMS = {
    "Burgers, 128 points": (Burgers(), 512, 128),
    "advection of jumps, 200 points": (Advection(profile="jumps"), 1000, 200),
    "Darcy 12/3, 33²": (Darcy(), 500, 33),
    "Darcy 12/3, 85²": (Darcy(fine_points=421), 1000, 85),
    "Darcy lognormal, 65²": (Darcy(law="lognormal"), 500, 65),
    "Navier–Stokes, forced, t = 2": (NavierStokes(time=2.0), 1000, 64),
    "Navier–Stokes, forced, t = 2, law of the authors' program": (NavierStokes(time=2.0, variance=2 * 7**3), 1000, 64),
    "Navier–Stokes, decaying, t = 1": (NavierStokes(forcing=None, deviation=2.0, fine_points=128, step=0.01), 1000, 64),
    "Helmholtz, ω = 100": (Helmholtz(100.0, fine_points=101), 500, 101),
    "Helmholtz, ω = 1000": (Helmholtz(1000.0), 500, 101),
}


def some(problem, rows, points, seed):
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.dataset(rows, points, seed)


def generated(problem, n, points, seed, options):
    """On the GPU where a problem can be solved there, or else by processes that share the pairs."""
    target = problem.domain.grid(points)
    if options.device != "cpu" and not isinstance(problem, Helmholtz):
        fine, parts = problem.fine_grid(target), []
        for start in range(0, n, 128):
            a = problem.input_measure.sample(range(start, min(start + 128, n)), fine, seed).to(options.device)
            y = problem.solve(a)
            parts.append([raffia.resample(f, fine, target).cpu() for f in (a, y)])
        return Dataset(*(torch.cat(f) for f in zip(*parts, strict=True)), problem.space)
    size = max(1, n // (4 * options.processes))
    cases = [(problem, range(start, min(start + size, n)), points, seed) for start in range(0, n, size)]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        parts = pool.starmap(some, cases, chunksize=1)
    return Dataset(torch.cat([part.a for part in parts]), torch.cat([part.y for part in parts]), problem.space)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="*", default=list(PROBLEMS), help="beginnings of names")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--finer", type=int, nargs="*", default=[], help="grids to test on, beside that of the training")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    for name, (problem, n, points) in PROBLEMS.items():
        if not any(name.startswith(wanted) for wanted in options.only):
            continue
        begun = time.perf_counter()
        test = generated(problem, TESTS, points, TEST_SEED, options)
        for seed in range(options.seeds):
            data = generated(problem, n, points, seed, options)
            made = time.perf_counter() - begun
            told = {"device": options.device, "effort": options.effort, "seed": seed}
            found = raffia.fit(data, test=test, **told)
            print(f"{name}, n = {n}, seed {seed} (data in {made:.0f} s)")
            for row in found.contest.rows:
                print("   ", "  ".join(row))
            errors = found.errors.numpy()
            print(f"    surrogate {np.mean(errors):.5f}, worst {np.max(errors):.4f}, {found.seconds:.1f} s", flush=True)
            for finer in options.finer:
                other = generated(problem, TESTS, finer, TEST_SEED, options)
                print(f"    on {finer} points {float(found.model.errors(other.a, other.y).mean()):.5f}", flush=True)
            begun = time.perf_counter()


if __name__ == "__main__":
    main()
