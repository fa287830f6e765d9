"""Modal coefficients: seconds of each part of a fit, and errors on Burgers' equation after tuning for them.

python benchmarks/modal.py speed [--device cuda] [--sizes 1000x1024]
python benchmarks/modal.py burgers [--device cuda] [--seeds 3] [--sizes 512x256 512x1024 1000x256 1000x1024 1000x4096]
python benchmarks/modal.py grids upscale [--device cuda] [--seeds 3]

With --found, features are those that a search found for n = 512 and m = 256, and nothing is searched.
"""

import argparse
import time

import numpy as np
import torch

from raffia import Burgers, FourierFeatures, RandomFeatureModel, metrics
from raffia.model.coefficients import Modal
from raffia.model.preprocessing import prepare
from raffia.regression import modal_left_out, modal_ridges
from tuning import data, report

TEST_SEED = 10_000


def features():
    """Those that a contest starts from."""
    return FourierFeatures(128, 10.0, 2.0, amplitude=2.0, bias=0.5, activation="gelu", profile="matern")


FOUND = {"tau": 15.8, "regularity": 3.62, "amplitude": 3.69, "bias": 0.536, "activation": "tanh", "profile": "matern"}


def clock(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def speed(options):
    """Assembly, ridges, what leaving out says with them, solution; on data made of noise, whose values do not matter."""
    for n, m in options.sizes:
        a, y = (torch.randn(n, 128, dtype=torch.float64, device=options.device).cumsum(1) for _ in range(2))
        a, y = a - a.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
        model = RandomFeatureModel(features(), m, "auto", coefficients="modal")
        for _ in range(2 if options.device.startswith("cuda") else 1):
            times = [clock(options.device)]
            pairs = prepare(model.settings, a, y)
            kind, frame = Modal(model.settings), pairs.frame
            form = kind.form(frame, n, a.device)
            stream = kind.stream(pairs)
            statistics = form.assemble(stream, pairs.inputs, pairs.outputs)
            times.append(clock(options.device))
            ridges = modal_ridges(statistics, stream, pairs.inputs, pairs.outputs, frame.measure)
            times.append(clock(options.device))
            modal_left_out(statistics, stream, pairs.inputs, pairs.outputs, ridges, frame.measure)
            times.append(clock(options.device))
            statistics.solved(ridges)
            times.append(clock(options.device))
        parts = dict(zip(("assembly", "ridges", "left out", "solution"), np.diff(times), strict=True))
        words = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items())
        print(f"n={n} m={m} ({form.__name__}): {words}; {sum(parts.values()):.2f} s in all", flush=True)


def tuned(m, a, y, seed, found):
    """A model, the seconds of its search, and those of the rest."""
    begun, settings = clock(str(a.device)), {"random_state": seed, "coefficients": "modal"}
    if found:
        model, searched = RandomFeatureModel(FourierFeatures(128, **FOUND), m, "auto", **settings).fit(a, y), 0.0
    else:
        model = RandomFeatureModel(features(), m, **settings).tune(a, y)
        searched = model.history_.seconds
        print(f"  {model.history_.found}, held out {model.held_out_error_:.5f}")
    return model, searched, clock(str(a.device)) - begun - searched


def burgers(options):
    """T = 1, K = 128."""
    test = data(Burgers(), options.test, 128, TEST_SEED, options.device)
    for n, m in options.sizes:
        results = []
        for seed in range(options.seeds):
            a, y = data(Burgers(), n, 128, seed, options.device)
            model, searched, trained = tuned(m, a, y, seed, options.found)
            results.append((-model.score(*test), searched, trained))
            print(f"  leaving one out {model.loo_error_:.5f}, tested {results[-1][0]:.5f}", flush=True)
        report(f"Burgers n={n} m={m}", *zip(*results, strict=True))


def grids(options):
    """Trained on 128 points, tested on others."""
    tests = {points: data(Burgers(), options.test, points, TEST_SEED, options.device) for points in (64, 128, 256, 512, 1024)}
    for n, m in options.sizes:
        a, y = data(Burgers(), n, 128, 0, options.device)
        model, *_ = tuned(m, a, y, 0, options.found)
        words = ", ".join(f"{points}: {-model.score(*test):.6f}" for points, test in tests.items())
        print(f"grids n={n} m={m}: {words}", flush=True)


def upscale(options):
    """Trained on the flow over 0.5, composed."""
    problem, times = Burgers(time=(0.5, 1.0, 1.5, 2.0)), (0.5, 1.0, 1.5, 2.0)
    inputs, outputs = data(problem, options.test, 128, TEST_SEED, options.device)
    for n, m in options.sizes:
        errors = []
        for seed in range(options.seeds):
            a, y = data(Burgers(time=0.5), n, 128, seed, options.device)
            model, *_ = tuned(m, a, y, seed, options.found)
            errors.append([metrics.relative_error(outputs[:, j], model.compose(inputs, j + 1)) for j in range(len(times))])
        words = ", ".join(f"T={t}: {error:.5f}" for t, error in zip(times, np.mean(errors, axis=0), strict=True))
        print(f"time-upscaling n={n} m={m}: {words}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["speed", "burgers", "grids", "upscale"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sizes", nargs="+", default=["1000x1024"], help="samples x features")
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--found", action="store_true")
    options = parser.parse_args()
    options.sizes = [tuple(map(int, size.split("x"))) for size in options.sizes]
    for name in options.what:
        globals()[name](options)
