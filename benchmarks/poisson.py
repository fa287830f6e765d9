"""The fast Poisson solver by matrix products and by FFT, and one predictor–corrector feature, against the resolution.

    python benchmarks/poisson.py

The last line fits time ~ K^p over r = 33 … 257, K = r²; K log K has p ≈ 1.1 there.
"""

import time

import numpy as np
import torch

from raffia import Darcy, Domain, PredictorCorrectorFeatures
from raffia.spaces import calculus


def clock(work, repeats=5):
    work()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def poisson_seconds(f, grid, matrix_points):
    calculus.MATRIX_POINTS, kept = matrix_points, calculus.MATRIX_POINTS
    seconds = clock(lambda: calculus.poisson(f, grid)) / len(f)
    calculus.MATRIX_POINTS = kept
    return seconds


def main():
    print(f"{torch.get_num_threads()} threads, float64, microseconds for one field or pair")
    print("   r   matrices       FFT   feature   CG iterations")
    resolutions, features = (17, 33, 65, 129, 257), []
    for r in resolutions:
        grid = Domain(2, periodic=False).grid(r)
        f = torch.randn(max(1, 2**20 // r**2), r, r, dtype=torch.float64)
        phi, problem = PredictorCorrectorFeatures(), Darcy()
        a = problem.input_measure.sample(1, grid, seed=0)
        prepared = phi.prepare(phi.draw(len(f), seed=0), grid)
        features.append(clock(lambda phi=phi, a=a, prepared=prepared: phi.evaluate(a, prepared)) / len(f))
        row = (poisson_seconds(f, grid, 10**9), poisson_seconds(f, grid, 0), features[-1])
        print(f"{r:4} " + " ".join(f"{1e6 * seconds:9.1f}" for seconds in row) + f"   {problem.iterations(a)}")
    exponent = np.polyfit(np.log(np.square(resolutions[1:])), np.log(features[1:]), 1)[0]
    print(f"one feature costs K^{exponent:.2f}")
    problem = Darcy()
    a = problem.input_measure.sample(1000, problem.domain.grid(129), seed=0)
    begun = time.perf_counter()
    problem.solve(a)
    print(f"1000 Darcy solves on 129² points: {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
