"""Many small Darcy problems at once, by elimination and by conjugate gradients: up to which grid is the first faster?

    python benchmarks/elimination.py [--device cuda]

The grids up to which `Darcy.solve` eliminates, `DIRECT` and `DIRECT_ELSEWHERE` in problems/darcy.py, are read off this table.
"""

import argparse
import time
import warnings

from raffia import Darcy
from raffia.problems import darcy


def seconds(problem, a, points):
    """The shortest of a few solves, with elimination up to so many points."""
    darcy.DIRECT = darcy.DIRECT_ELSEWHERE = points
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        u = problem.solve(a)
        float(u.sum())  # waits for a GPU
        times.append(time.perf_counter() - begun)
    return min(times), u


def main(device, counts):
    print("milliseconds for all; lognormal a\n   r     n  elimination  conjugate gradients  difference")
    for r in (9, 17, 25, 33, 49, 65):
        problem = Darcy(law="lognormal", n_modes=min(400, r * r // 2))
        whole = problem.input_measure.sample(max(counts), problem.domain.grid(r), seed=0).to(device)
        for n in counts:
            (direct, u), (iterated, v) = (seconds(problem, whole[:n], points) for points in (10**9, 0))
            apart = float((u - v).abs().max() / v.abs().max())
            print(f"{r:4} {n:5} {1e3 * direct:12.1f} {1e3 * iterated:20.1f} {apart:11.1e}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--counts", type=int, nargs="+", default=[8, 64, 1024])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    main(asked.device, asked.counts)
