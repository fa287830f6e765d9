"""What constraints reach, what they cost, and how long they take.

    python benchmarks/constraints.py

Conserved integrals of Burgers' equation on grids that training did not have; the error of Darcy pressures with and without positivity
at 1,000 collocation points; seconds of the quadratic programme for 1,000 points, from rows of features to coefficients, at bounds
that few and that most of the points violate, and the processor's own, which others on the machine do not lengthen.
"""

import time

import torch

from raffia import Burgers, Darcy, Domain, FourierFeatures, LocalFeatures, PredictorCorrectorFeatures, RandomFeatureModel
from raffia.constraints import BoundaryValues, Bounded, Conserved, Positive
from raffia.model.coefficients.ordinary import positive_ridge
from raffia.model.inequalities import bounded
from raffia.model.preprocessing import prepare

POINTS = 1000


def conservation():
    print("Burgers, ∫F(a) = ∫a: the largest difference of means over 100 new inputs with means of order 1")
    problem = Burgers()
    a, y = problem.dataset(256, points=128, seed=0)
    means = torch.linspace(-1, 1, 256, dtype=torch.float64)[:, None]
    kinds = {"ordinary": {}, "modal": {"coefficients": "modal", "n_features": 256}, "normalised": {"normalize": True}}
    for name, how in kinds.items():
        arguments = {"n_features": 1024, "ridge": 1e-6, "constraints": [Conserved()]} | how
        model = RandomFeatureModel(FourierFeatures(), **arguments).fit(a + means, y + means)
        apart = []
        for points in (17, 64, 128, 1000, 4096):
            new = problem.input_measure.sample(100, Domain(1).grid(points), seed=1) + torch.randn(100, 1).double()
            apart.append(f"{points}: {float((model.predict(new).mean(1) - new.mean(1)).abs().max()):.1e}")
        print(f"    {name:12} {'   '.join(apart)}")


def pressures():
    print(f"Darcy, 33 × 33, 60 pairs, m = 256: mean error on 60 others; values below zero at {POINTS} points, and everywhere")
    a, u = Darcy(fine_points=65).dataset(120, points=33, seed=0)
    square = Domain(2, periodic=False)
    maps = {
        "FourierFeatures": (FourierFeatures(8, domain=square), 1e-6),
        "LocalFeatures": (LocalFeatures(domain=square), 1e-6),
        "PredictorCorrectorFeatures": (PredictorCorrectorFeatures(), 1e-8),
    }
    for name, (features, ridge) in maps.items():
        for normalize in (False,) if name.startswith("Predictor") else (False, True, "function"):
            print(f"    {name}, normalize={normalize}")
            for constraints in ((), [Positive(POINTS)], [BoundaryValues()], [BoundaryValues(), Positive(POINTS)]):
                model = RandomFeatureModel(features, 256, ridge, normalize=normalize, constraints=constraints)
                model.fit(a[:60], u[:60])
                guess, points = model.predict(a[:60]), Positive(POINTS).collocation(a[:60], model.output_grid_)
                below = int((guess.flatten(1)[points.sample, points.element] < 0).sum())
                words = ", ".join(type(one).__name__ for one in constraints) or "none"
                error = float(model.errors(a[60:], u[60:]).mean())
                print(f"        {words:26} {error:.4f}   {below:4}   {float((guess < 0).double().mean()):8.4%}")


def seconds():
    print(
        f"The quadratic programme of {POINTS} points (rows of features, whitening, daqp, check), {torch.get_num_threads()} threads"
    )
    a, y = Burgers().dataset(128, points=64, seed=0)
    top = float(y.abs().max())
    for m in (1024, 4096):
        model = RandomFeatureModel(FourierFeatures(64), m, 1e-6).fit(a, y)
        statistics, ridge = model.equations_, positive_ridge(1e-6, model.equations_)
        for share in (0.9, 0.5, 0.1):
            model.set_params(constraints=[Bounded(-share * top, share * top, points=POINTS)])
            pairs = prepare(model.settings, a, y)
            begun, busy = time.perf_counter(), time.process_time()
            solution = bounded(model.settings, pairs, statistics, ridge)
            taken, busy = time.perf_counter() - begun, time.process_time() - busy
            tight = solution.guarantees[0].split("equality at ")[1].split()[0]
            print(
                f"    m = {m}, |F| ≤ {share} max |y|: {taken:5.2f} s, processor {busy:5.2f} s, {tight:>4} points with equality, "
                f"rows added {solution.n_iter} times, residual {solution.residual:.0e}"
            )


if __name__ == "__main__":
    conservation()
    seconds()
    pressures()
