"""Time and memory of every solver against the number of features, on one problem.

    python benchmarks/solvers.py [--device cuda] [--largest 4096]

Burgers with the paper's features, n = 128, K = 64 unless told otherwise, ridge 1e-6: seconds from data to coefficients, assembly
included, evaluated features kept where they fit; beside them direct calls of torch, scipy and scikit-learn on the tall matrix,
whose evaluation they are spared. "automatic" is what solver=None picks, and its time over that of the best solver.
"""

import argparse
import resource
import time
from functools import partial

import numpy as np
import scipy.linalg
import torch
from sklearn.linear_model import Ridge

from raffia import Burgers, FourierFeatures, RaffiaError
from raffia.regression import (
    FeatureStream,
    NormalEquations,
    Streamed,
    Workspace,
    available_memory,
    choose_solver,
)
from raffia.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse

RIDGE = 1e-6
DENSE = {"cpu": 4096, "cuda": 8192}
SOLVERS = {
    "Cholesky": Cholesky(),
    "Pseudoinverse": Pseudoinverse(),
    "NystromPCG": NystromPCG(),
    "NystromPCG, matrix-free": NystromPCG(matrix_free=True),
    "Dual": Dual(),
}


def seconds(work, device):
    if device == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun, result


def by_solver(solver, stream, a, y):
    if solver.statistics is Streamed:
        equations = Streamed(stream, ((a, y),), kept_numbers=2**27 if a.device.type == "cpu" else 2**32)
    else:
        equations = NormalEquations.assemble(stream, a, y)
    return solver.solve(equations, RIDGE)


def direct(A, b, m, device):
    """The same system from the tall matrix, as one would write it by hand; the matrix itself is not timed."""
    rows = {}

    def by_torch():
        G = A.T @ A / m
        G.diagonal().add_(RIDGE)
        return torch.cholesky_solve((A.T @ b)[:, None], torch.linalg.cholesky(G))

    rows["torch.linalg.cholesky"] = seconds(by_torch, device)[0]
    if device == "cpu":
        A, b = A.numpy(), b.numpy()
        rows["scipy.linalg.solve"] = seconds(
            lambda: scipy.linalg.solve(A.T @ A / m + RIDGE * np.eye(m), A.T @ b, assume_a="pos"), device
        )[0]
        rows["sklearn Ridge"] = seconds(lambda: Ridge(alpha=m * RIDGE, fit_intercept=False).fit(A, b), device)[0]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--smallest", type=int, default=256)
    parser.add_argument("--largest", type=int, default=4096)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--points", type=int, default=64)
    options = parser.parse_args()
    device = torch.device(options.device)
    a, y = (f.to(device) for f in Burgers(fine_points=256).dataset(options.samples, options.points, seed=0))
    features = FourierFeatures()
    grid = features.domain.grid_of(a)

    def stream_of(m):
        theta = features.draw(m, seed=0).to(device)
        return FeatureStream.within(Workspace(m, device), features, theta, grid, grid)

    by_solver(Cholesky(), stream_of(64), a, y)  # warm up
    for m in [2**k for k in range(8, 17) if options.smallest <= 2**k <= options.largest]:
        stream = stream_of(m)
        times, found = {}, {}
        for name, solver in SOLVERS.items():
            dense = isinstance(solver, Pseudoinverse) and m > DENSE[options.device]
            if dense or (isinstance(solver, Dual) and y.numel() > m):
                continue  # minutes for a decomposition; or more rows than features, which the dual is not for
            try:
                work = partial(by_solver, solver, stream, a, y)
                repeats = [seconds(work, options.device) for _ in range(3 if m <= 2048 else 1)]
                times[name], found[name] = min(repeats, key=lambda pair: pair[0])
            except (RaffiaError, torch.OutOfMemoryError) as error:
                print(f"m={m:6} {name}: {str(error).splitlines()[0][:90]}")
        if m <= 8192:
            A = torch.cat([rows.mT for rows, _ in stream.blocks(a, y)])
            times |= direct(A, grid.embed(y).reshape(-1), m, options.device)
        chosen = choose_solver(m, y.numel(), RIDGE, available_memory(device))
        label = next(name for name, solver in SOLVERS.items() if repr(solver) == repr(chosen))
        best = min(value for name, value in times.items() if name in SOLVERS)
        reference = found["Cholesky"].coef
        print(f"m={m:6}  automatic: {label}, {times[label] / best:.2f} times the best")
        for name, value in times.items():
            off = ""
            if name in found:
                misfit = float((found[name].coef - reference).norm() / reference.norm())
                off = f"  off {misfit:.0e}, {found[name].n_iter:3} iterations"
            print(f"    {name:26} {value:8.3f} s{off}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"peak memory {peak:.2f} GiB"
        + (f", GPU {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB" if device.type == "cuda" else "")
    )


if __name__ == "__main__":
    main()
