"""How often bands contain the truth, on Burgers and Darcy, 5 seeds.

    python benchmarks/coverage.py

Conformal: the share of test functions that lie inside the 90 % band at every point; guaranteed to be 90 % on average. Gaussian:
the share of test values inside mean ± 1.645 std, nominally 90 %; nothing guarantees it.
"""

import numpy as np

from raffia import Burgers, Darcy, FourierFeatures, PredictorCorrectorFeatures, RandomFeatureModel


def coverage(problem, points, features, m, ridge, n, seed):
    train, calibration, test = (problem.dataset(k, points, seed=3 * seed + i) for i, k in enumerate((n, 500, 500)))
    model = RandomFeatureModel(features, m, ridge, random_state=seed).fit(*train)
    band = model.conformal(*calibration, level=0.9)
    mean, std = model.predict(test.a, return_std=True)
    inside = (test.y - mean).abs() <= 1.645 * std
    return float(band.covers(*test).double().mean()), float(inside.double().mean())


def main():
    cases = {
        "Burgers, n=256, m=512, K=64": (Burgers(fine_points=512), 64, FourierFeatures(), 512, 1e-6, 256),
        "Darcy, n=100, m=256, r=17": (Darcy(fine_points=65), 17, PredictorCorrectorFeatures(), 256, 1e-8, 100),
    }
    for name, case in cases.items():
        rows = [coverage(*case, seed) for seed in range(5)]
        conformal, gaussian = np.mean(rows, axis=0)
        spread = np.ptp(rows, axis=0)
        print(f"{name}: conformal 90 % band covers {conformal:.1%} of the functions (range over seeds {spread[0]:.1%}),")
        print(f"    Gaussian pointwise 90 % covers {gaussian:.1%} of the values (range {spread[1]:.1%})")


if __name__ == "__main__":
    main()
