"""How often error bars and bands contain the truth.

    python benchmarks/coverage.py [--seeds 20] [--kinds ordinary modal kernel] [--bars] [--processes 1]

Gaussian: the share of test values inside mean ± 1.645 std, nominally 90 %; nothing guarantees it. Conformal: the share of test
functions that lie inside the 90 % band at every point, for every kind of output; guaranteed to be 90 % or more on average.
"""

import argparse
import itertools
import math
import multiprocessing

import numpy as np
import torch

from raffia import (
    Burgers,
    Channels,
    Darcy,
    Domain,
    FourierFeatures,
    GaussianField,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
)

CIRCLE, TORUS, LEVEL = Domain(1), Domain(2), 0.9
SHAPE = {"profile": "matern", "amplitude": 2.0, "bias": 0.5, "activation": "gelu"}


def noise(domain, grid, n, smooth, seed):
    """Of standard deviation 0.1, white or smooth."""
    if not smooth:
        return 0.1 * torch.randn(n, *grid.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    field = GaussianField(domain, n_modes=40, tau=10.0).sample(n, grid, seed=10_000 + seed)
    return 0.1 * field / field.std()


def circle(points, n, smooth, seed):
    a = GaussianField(CIRCLE, n_modes=30).sample(n + 60, CIRCLE.grid(points), seed=seed)
    a = a / a.std()
    return a, torch.tanh(a) + noise(CIRCLE, CIRCLE.grid(points), n + 60, smooth, seed), FourierFeatures(30, **SHAPE)


def torus(points, n, smooth, seed):
    a = GaussianField(TORUS, n_modes=60, tau=4.0).sample(n + 60, TORUS.grid(points), seed=seed)
    a = a / a.std()
    return a, torch.tanh(a) + noise(TORUS, TORUS.grid(points), n + 60, smooth, seed), FourierFeatures(60, domain=TORUS, **SHAPE)


def gaussian(make, points, n, smooth, seed, kind):
    a, y, features = make(points, n, smooth, seed)
    if kind == "kernel":
        kernel = ScalarFeatures(None, 2.0, law="student", domain=features.domain)
        model = RandomFeatureModel(kernel, math.inf, "auto", normalize="function").fit(a[:n], y[:n])
    else:
        model = RandomFeatureModel(features, 64, "auto", random_state=seed, coefficients=kind).fit(a[:n], y[:n])
    mean, std = model.predict(a[n:], return_std=True)
    return float(((y[n:] - mean).abs() <= 1.645 * std).double().mean())


def conformal(output, features, seed):
    a, y = Burgers(fine_points=256).dataset(400, 32, seed=seed)
    several = torch.stack([y, 50 * y**2], 1)
    y = {CIRCLE: y, Vectors(): y[:, :3], Domain(0): y[:, 0], Channels(CIRCLE, 2): several}[output]
    model = RandomFeatureModel(features, 64, 1e-4, output=output, normalize=True, random_state=seed).fit(a[:100], y[:100])
    return float(model.conformal(a[100:199], y[100:199], LEVEL).covers(a[199:], y[199:]).double().mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", default=["ordinary", "modal", "kernel"], help="of coefficients")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--bars", action="store_true", help="error bars on up to 512 points and 32² alone")
    options = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(options.processes, torch.set_num_threads, (1,)) as pool:
        measured(options, pool)


def measured(options, pool):
    """Print all tables; seeds are shared out to processes."""
    everything = ((circle, (64, 256, 512, 1024)), (torus, (16, 32, 64)))
    for make, sizes in ((circle, (64, 256, 512)), (torus, (16, 32))) if options.bars else everything:
        for points in sizes:
            for n, kind in itertools.product((20, 80), options.kinds):
                cases = [(make, points, n, smooth, seed, kind) for smooth in (False, True) for seed in range(options.seeds)]
                white, smooth = np.split(np.array(pool.starmap(gaussian, cases, chunksize=1)), 2)
                words = f"{make.__name__:7} {points:5} points, n={n:3}, {kind:8}"
                print(f"{words}: white noise {white.mean():.1%}, smooth {smooth.mean():.1%}", flush=True)
    if options.bars:
        return
    numbers = [(output, ScalarFeatures(16)) for output in (CIRCLE, Channels(CIRCLE, 2), Vectors(), Domain(0))]
    for output, features in ((CIRCLE, FourierFeatures(30)), *numbers):
        shares = pool.starmap(conformal, [(output, features, seed) for seed in range(options.seeds)])
        error = np.std(shares) / len(shares) ** 0.5
        print(f"conformal, {type(features).__name__} to {output}: {np.mean(shares):.1%} ± {error:.1%}", flush=True)
    a, y = Darcy(fine_points=65).dataset(260, 17, seed=0)
    model = RandomFeatureModel(PredictorCorrectorFeatures(), 128, 1e-8).fit(a[:100], y[:100])
    mean, std = model.predict(a[160:], return_std=True)
    print(f"Darcy: Gaussian {float(((y[160:] - mean).abs() <= 1.645 * std).double().mean()):.1%}, ", end="")
    print(f"conformal {float(model.conformal(a[100:160], y[100:160], LEVEL).covers(a[160:], y[160:]).double().mean()):.1%}")


if __name__ == "__main__":
    main()
