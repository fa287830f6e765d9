"""How close are the errors that raffia foretells to the errors that come? Twenty data sets, each with its true test error.

    python benchmarks/trust.py

Columns are ratios to the true error, that of the same model on new pairs: `loo_error_` of ridge="auto", `held_out_error_` after
`tune` (a short search), and the mean error that `raffia.fit` reports for pairs held out.
"""

import numpy as np
import torch

import raffia
from raffia import Burgers, Darcy, Dataset, Domain, FourierFeatures, GaussianField, RandomFeatureModel, ScalarFeatures, Vectors
from raffia.tuning import GradientSearch

CIRCLE, BOX = Domain(1), Domain(2, periodic=False)
BRIEF = GradientSearch(steps=15, contest_steps=2, screened=2, swept=0, last_steps=0)
TEST = 300


def burgers(n, noise=0.0, mean=0.0, copies=1):
    a, y = Burgers(fine_points=128).dataset(n + TEST, 32, seed=n)
    y = y + mean + noise * torch.randn(y.shape, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    a, y = (torch.cat([f[:n].repeat(copies, 1), f[n:]]) for f in (a, y))
    return Dataset(a, y, CIRCLE), FourierFeatures(30, 10.0, 2.0, amplitude=2.0, bias=0.5, activation="gelu", profile="matern")


def linear(n, noise=0.0):
    a = GaussianField(CIRCLE, n_modes=16).sample(n + TEST, CIRCLE.grid(32), seed=n)
    y = a.roll(3, 1) + noise * torch.randn(a.shape, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    return Dataset(a, y, CIRCLE), ScalarFeatures(17, domain=CIRCLE)


def darcy(n):
    a, y = Darcy(fine_points=33).dataset(n + TEST, 17, seed=n)
    return Dataset(a, y, BOX), ScalarFeatures(64, domain=BOX)


def parameters(n, mean=0.0):
    x = torch.rand(n + TEST, 3, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    return Dataset(x, mean + torch.sin(5 * x[:, :1]) * x[:, 1:], Vectors(), output=Vectors()), ScalarFeatures(
        3, domain=Vectors()
    )


CASES = {
    f"{make.__name__}({n}{''.join(f', {key}={value}' for key, value in how.items())})": (make, n, how)
    for make, n, how in (
        (burgers, 10, {}), (burgers, 20, {}), (burgers, 60, {}), (burgers, 150, {}), (burgers, 500, {}),
        (burgers, 20, {"noise": 0.1}), (burgers, 100, {"noise": 0.1}), (burgers, 40, {"mean": 5.0}),
        (burgers, 200, {"mean": 300.0, "noise": 1.0}), (burgers, 40, {"copies": 2}), (burgers, 120, {"copies": 3}),
        (linear, 12, {}), (linear, 50, {"noise": 0.2}), (linear, 300, {"noise": 0.2}), (darcy, 30, {}), (darcy, 100, {}),
        (darcy, 250, {}), (parameters, 25, {}), (parameters, 100, {"mean": 50.0}), (parameters, 400, {}),
    )
}  # fmt: skip


def ratios(data, features):
    """Of each foretold error to the true one."""
    a, y, new, truth = data.a[:-TEST], data.y[:-TEST], data.a[-TEST:], data.y[-TEST:]
    told = {"normalize": True, "output": data.output}

    def true(model):
        return float(model.errors(new, truth).mean())

    auto = RandomFeatureModel(features, 256, "auto", **told).fit(a, y)
    tuned = RandomFeatureModel(features, 256, **told).tune(a, y, BRIEF)
    found = raffia.fit(Dataset(a, y, data.domain, output=data.output), features, 256, normalize=True, refit=False)
    grid = (data.output or data.domain).grid_of(truth)
    reported = found.model.trained_.sizes.errors(truth, found.model.predict(new), grid).relative  # reports have relative errors
    return (
        auto.loo_error_ / true(auto),
        tuned.held_out_error_ / true(tuned),
        float(found.errors.mean()) / float(reported.mean()),
        true(auto),
    )


def main():
    rows = {}
    print(f"{'data set':40} loo_error_  held_out_error_  report   (true error)")
    for name, (make, n, how) in CASES.items():
        rows[name] = ratios(*make(n, **how))
        print(f"{name:40} {rows[name][0]:10.2f} {rows[name][1]:16.2f} {rows[name][2]:7.2f}   ({rows[name][3]:.2g})", flush=True)
    means = np.exp(np.log(np.array([row[:3] for row in rows.values()])).mean(0))
    print(f"{'geometric mean':40} {means[0]:10.2f} {means[1]:16.2f} {means[2]:7.2f}")


if __name__ == "__main__":
    main()
