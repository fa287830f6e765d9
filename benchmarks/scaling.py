"""How cost grows with n, m and K, what memory a fit takes, and how long the authors' code takes for the same.

    python benchmarks/scaling.py cost memory authors [--device cuda] [-o benchmarks/history]

Exponents are slopes of least-squares lines through logarithms; the times go to a JSON file and a picture.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from assembly import clock
from raffia import (
    Burgers,
    Darcy,
    Domain,
    FourierFeatures,
    GaussianField,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    metrics,
)
from raffia.regression import NormalEquations

MIDDLE = {"cpu": {"n": 64, "m": 1024, "K": 128}, "cuda": {"n": 512, "m": 4096, "K": 512}}
RANGES = {
    "cpu": {"n": (128, 256, 512, 1024), "m": (1024, 2048, 4096, 8192), "K": (128, 256, 512, 1024)},
    "cuda": {"n": (512, 1024, 2048, 4096), "m": (2048, 4096, 8192, 16384), "K": (256, 512, 1024, 2048)},
}
AUTHORS_FIT, AUTHORS_DARCY = 957.0, 6.7  # seconds: training with n=512, m=1024, K=129; one prediction at r=257, m=256


def measure(n, m, K, device):
    features, grid = FourierFeatures(), Domain(1).grid(K)
    a = GaussianField(n_modes=min(1022, K - 2)).sample(n, grid, seed=0).to(device)
    model = RandomFeatureModel(features, m, ridge=1e-6)
    stream = model.settings.stream(a, grid, grid)
    assembled = clock(lambda: NormalEquations.assemble(stream, a, a), device)
    model.fit(a[:4], a[:4])
    return assembled, clock(lambda: model.predict(a), device)


def cost(options):
    """Assembly and prediction along each of n, m and K."""
    found = {}
    for name, sizes in RANGES[options.device].items():
        times = np.array([measure(**(MIDDLE[options.device] | {name: size}), device=options.device) for size in sizes])
        slopes = [np.polyfit(np.log(sizes), np.log(column), 1)[0] for column in times.T]
        found[name] = {"sizes": sizes, "assemble": times[:, 0].tolist(), "predict": times[:, 1].tolist(), "exponents": slopes}
        print(f"{name} in {sizes}: assembly grows as {name}^{slopes[0]:.2f}, prediction as {name}^{slopes[1]:.2f}", flush=True)
    if options.output:
        stem = options.output / f"{time.strftime('%Y-%m-%d')}-scaling-{options.device}"
        stem.with_suffix(".json").write_text(json.dumps({"middle": MIDDLE[options.device], "series": found}, indent=1))
        drawn(found, MIDDLE[options.device]).savefig(stem.with_suffix(".png"), dpi=110)


def drawn(found, middle):
    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    for axes, (name, series) in zip(figure.subplots(1, 3, sharey=True), found.items(), strict=True):
        for what, marker, slope in zip(("assemble", "predict"), "os", series["exponents"], strict=True):
            axes.loglog(series["sizes"], series[what], marker=marker, label=f"{what}: exponent {slope:.2f}")
        axes.set_xticks(series["sizes"], map(str, series["sizes"]), minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel(name)
        axes.set_title(", ".join(f"{other} = {size}" for other, size in middle.items() if other != name), fontsize=10)
        axes.legend(frameon=False, fontsize=9)
    figure.axes[0].set_ylabel("seconds")
    return figure


def memory(options):
    """Each fit in a process of its own, because a peak never goes down."""
    for n in (512, 2048, 8192):
        subprocess.run([sys.executable, __file__, "one", "--samples", str(n)], check=True)


def one(options):
    n, m, K = options.samples, 512, 256
    grid = Domain(1).grid(K)
    a = GaussianField(n_modes=K - 2).sample(16, grid, seed=0).repeat(n // 16, 1)
    RandomFeatureModel(FourierFeatures(), m, ridge=1e-6).fit(a[:64], a[:64])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    RandomFeatureModel(FourierFeatures(), m, ridge=1e-6).fit(a, a)
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"n={n} m={m} K={K}: all features {8 * n * m * K / 2**30:.1f} GiB, inputs and outputs {a.nbytes / 2**19:.0f} MiB; "
        f"peak above that of n=64: {extra:.0f} MiB",
        flush=True,
    )


def authors(options):
    """The same problems as in the authors' logs; their seconds were measured on two cores as well."""
    a, y = Burgers().dataset(512, 128, seed=0)
    test = Burgers().dataset(500, 128, seed=1)
    model = RandomFeatureModel(FourierFeatures(), 1024, ridge=0.0)
    spent = clock(lambda: model.fit(a, y), "cpu", 2)
    error = metrics.relative_error(test.y, model.predict(test.a))
    print(
        f"Burgers n=512 m=1024 K=128, λ=0: {spent:.2f} s, {AUTHORS_FIT / spent:.0f} times faster than {AUTHORS_FIT:.0f} s; "
        f"error {error:.4f}"
    )
    a, y = Darcy(fine_points=257).dataset(8, 257, seed=0)
    model = RandomFeatureModel(PredictorCorrectorFeatures(), 256, ridge=1e-8).fit(a, y)
    spent = clock(lambda: model.predict(a), "cpu") / len(a)
    print(
        f"Darcy r=257 m=256: {spent * 1e3:.1f} ms a prediction, {AUTHORS_DARCY / spent:.0f} times faster than {AUTHORS_DARCY} s"
    )


EXPERIMENTS = {f.__name__: f for f in (cost, memory, authors, one)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", default=["cost"], choices=EXPERIMENTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    for name in options.experiments:
        EXPERIMENTS[name](options)


if __name__ == "__main__":
    main()
