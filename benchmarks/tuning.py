"""Tuned features: test errors on 2,000 inputs and seconds, from the default starting values, tuned on training data only.

python benchmarks/tuning.py burgers upscale grids darcy bridge searches [--device cuda] [--seeds 3] [--features 1024] [--samples 512]
"""

import argparse
import time

import numpy as np
import torch

from raffia import (
    Burgers,
    Darcy,
    Domain,
    FourierFeatures,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    metrics,
    resample,
)
from raffia.features import BrownianBridge
from raffia.problems import BridgeRegression
from raffia.tuning import GradientSearch, RidgeSearch

N_TEST, TEST_SEED = 2000, 10_000


def data(problem, n, points, seed, device):
    """`problem.dataset`, computed on the device."""
    target = problem.domain.grid(points)
    fine = problem.fine_grid(target)
    inputs, outputs = [], []
    for start in range(0, n, 256):
        a = problem.input_measure.sample(range(start, min(start + 256, n)), fine, seed).to(device)
        inputs.append(resample(a, fine, target))
        outputs.append(resample(problem.solve(a), fine, target))
    return torch.cat(inputs), torch.cat(outputs)


def tuned(features, m, a, y, seed, search=None):
    begun = time.perf_counter()
    model = RandomFeatureModel(features, m, random_state=seed).tune(a, y, search)
    if a.device.type == "cuda":
        torch.cuda.synchronize()
    return model, model.history_.seconds, time.perf_counter() - begun - model.history_.seconds


def report(label, errors, searched, trained):
    print(
        f"{label}: mean error {np.mean(errors):.5f}, worst {max(errors):.5f} of {len(errors)} seeds; "
        f"search {np.mean(searched):.1f} s, ridge and training {np.mean(trained):.1f} s",
        flush=True,
    )


def burgers(options):
    """T = 1, K = 128."""
    test = data(Burgers(), N_TEST, 128, TEST_SEED, options.device)
    for m in options.features:
        results = []
        for seed in range(options.seeds):
            a, y = data(Burgers(), options.samples, 128, seed, options.device)
            model, searched, trained = tuned(FourierFeatures(), m, a, y, seed)
            results.append((-model.score(*test), searched, trained))
        print(f"  last: {model.history_.found}")
        report(f"Burgers n={options.samples} m={m}", *zip(*results, strict=True))


def upscale(options):
    """tab:time_upscale: trained on the flow over 0.5, composed."""
    problem, m = Burgers(time=(0.5, 1.0, 1.5, 2.0)), 4096
    inputs, outputs = data(problem, N_TEST, 128, TEST_SEED, options.device)
    errors = []
    for seed in range(options.seeds):
        a, y = data(Burgers(time=0.5), 512, 128, seed, options.device)
        model, *_ = tuned(FourierFeatures(), m, a, y, seed)
        errors.append([metrics.relative_error(outputs[:, j], model.compose(inputs, j + 1)) for j in range(4)])
    for j, time_ in enumerate((0.5, 1.0, 1.5, 2.0)):
        print(f"time-upscaling m={m} T={time_}: {np.mean(errors, axis=0)[j]:.5f}", flush=True)


def grids(options):
    """Trained on 128 points, tested on others."""
    tests = {points: data(Burgers(), N_TEST, points, TEST_SEED, options.device) for points in (64, 128, 256, 1024)}
    for m in options.features:
        errors = []
        for seed in range(options.seeds):
            a, y = data(Burgers(), 512, 128, seed, options.device)
            model, *_ = tuned(FourierFeatures(), m, a, y, seed)
            errors.append([-model.score(*pair) for pair in tests.values()])
        mean = np.mean(errors, axis=0)
        words = ", ".join(
            f"K={points} {value:.5f} ({value / mean[1] - 1:+.1%})" for points, value in zip(tests, mean, strict=True)
        )
        print(f"resolutions m={m}: {words}", flush=True)


def darcy(options):
    """r = 65, n = 500: features that know the equation, and features that do not."""
    test = data(Darcy(), N_TEST, 65, TEST_SEED, options.device)
    box = Domain(2, periodic=False)
    for label, features, m in (
        ("predictor-corrector", PredictorCorrectorFeatures(), 512),
        ("scalar", ScalarFeatures(n_modes=200, domain=box), 4096),
    ):
        results = []
        for seed in range(options.seeds):
            a, y = data(Darcy(), 500, 65, seed, options.device)
            model, searched, trained = tuned(features, m, a, y, seed)
            results.append((-model.score(*test), searched, trained))
        print(f"  last: {model.history_.found}")
        report(f"Darcy r=65 n=500 {label} m={m}", *zip(*results, strict=True))


def bridge(options):
    """Bad starting values: paths far too smooth and far too rough; and Burgers with amplitude 1 and τ ten times off."""
    test = BridgeRegression().dataset(N_TEST, seed=TEST_SEED)
    for smoothness in (1.0, 4.0, 0.6):
        before, after = [], []
        for seed in range(options.seeds):
            a, y = BridgeRegression().dataset(32, seed=seed)
            model = RandomFeatureModel(BrownianBridge(smoothness=smoothness), 1000, ridge=1e-10, random_state=seed)
            before.append(metrics.bochner_error(test.y, model.fit(a, y).predict(test.a)))
            model.tune(a, y)
            after.append(metrics.bochner_error(test.y, model.predict(test.a)))
        print(f"bridge from smoothness {smoothness}: {np.mean(before):.4f} → {np.mean(after):.4f}", flush=True)
    test = data(Burgers(), N_TEST, 128, TEST_SEED, options.device)
    for bad in ({"amplitude": 1.0}, {"tau": 50.0}, {"amplitude": 1.0, "tau": 0.5}):
        before, after = [], []
        for seed in range(options.seeds):
            a, y = data(Burgers(), 512, 128, seed, options.device)
            untuned = RandomFeatureModel(FourierFeatures(**bad), 1024, ridge=1e-8, random_state=seed).fit(a, y)
            before.append(-untuned.score(*test))
            after.append(-tuned(FourierFeatures(**bad), 1024, a, y, seed)[0].score(*test))
        print(f"Burgers m=1024 from {bad}: {np.mean(before):.4f} → {np.mean(after):.4f}, worst {max(after):.4f}", flush=True)


def searches(options):
    """The searches on the same data: n = 512, m = 1024."""
    test = data(Burgers(), N_TEST, 128, TEST_SEED, options.device)
    for search in (search for search in (RidgeSearch(), GradientSearch()) if options.search in repr(search)):
        results = []
        for seed in range(options.seeds):
            a, y = data(Burgers(), 512, 128, seed, options.device)
            model, searched, trained = tuned(FourierFeatures(), 1024, a, y, seed, search)
            results.append((-model.score(*test), searched, trained))
        report(repr(search), *zip(*results, strict=True))


EXPERIMENTS = {f.__name__: f for f in (burgers, upscale, grids, darcy, bridge, searches)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", default=["burgers"], choices=EXPERIMENTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--features", type=int, nargs="+", default=[1024])
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--search", default="", help="of the searches, those whose name has this in it")
    options = parser.parse_args()
    for name in options.experiments:
        EXPERIMENTS[name](options)


if __name__ == "__main__":
    main()
