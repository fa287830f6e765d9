"""Can a user trust what a fit says? Fourteen problems, fitted by `raffia.fit`, against fresh data of the same distribution.

    python benchmarks/trust.py bars     [--sizes 12 24 60 200] [--seeds 6] [--effort quick] [--only tanh elliptic] [--processes 2]
    python benchmarks/trust.py novelty  [--sizes 60 200]
    python benchmarks/trust.py outliers [--sizes 100 200]

bars: the share of fresh values within 1.645 standard deviations of the prediction (nominally 90 %), and the reported error over the
true one. novelty: the share of inputs that `model.novelty` flags: of the training distribution, twice as large, twice as rough.
outliers: 1 % of the outputs (at least two) are replaced by those of other inputs; the share of them that is named, false alarms per
hundred samples, and the error without the named samples over that of clean data.
"""

import argparse
import json
import math
import multiprocessing
import time
import warnings

import numpy as np
import torch

import raffia
from raffia import Channels, Dataset, Domain, Vectors

CIRCLE, TORUS, LINE, BOX = Domain(1), Domain(2), Domain(1, periodic=False), Domain(2, periodic=False)
POINTS, FRESH = 32, 300


def series(n, rng, rough=1, points=POINTS, decay=1.5):
    """Random Fourier series with eight wavenumbers; `rough` multiplies the wavenumbers."""
    x, k = np.arange(points) / points, np.arange(1, 9)
    c = rng.normal(size=(n, 8, 2)) * k[:, None] ** -decay
    phase = 2 * np.pi * rough * np.outer(k, x)
    return c[:, :, 0] @ np.cos(phase) + c[:, :, 1] @ np.sin(phase)


def rough_series(n, rng, rough=1):
    """All wavenumbers that the grid has, so that a linear map is not found from as few pairs as there are modes."""
    c = rng.normal(size=(n, POINTS // 2 + 1)) + 1j * rng.normal(size=(n, POINTS // 2 + 1))
    return np.fft.irfft(c * np.maximum(1, np.arange(POINTS // 2 + 1)) ** (-1.5 / rough), POINTS)


def on_line(n, rng, rough=1, points=33):
    x, k = np.linspace(0, 1, points), np.arange(1, 9)
    c = rng.normal(size=(n, 8, 2)) * k[:, None] ** -1.5
    phase = 2 * np.pi * rough * np.outer(k, x)
    return c[:, :, 0] @ np.cos(phase) + c[:, :, 1] @ np.sin(phase)


def on_torus(n, rng, rough=1, points=16):
    """Random Fourier series on the torus with wavenumbers up to three."""
    x = np.arange(points) / points
    field = np.zeros((n, points, points))
    for k in range(-3, 4):
        for j in range(4):
            if (k, j) != (0, 0):
                c = rng.normal(size=(n, 2)) / (k * k + j * j)
                phase = 2 * np.pi * rough * (k * x[:, None] + j * x[None])
                field += c[:, :1, None] * np.cos(phase) + c[:, 1:, None] * np.sin(phase)
    return field


def burgers(a, viscosity=0.05, t=0.3):
    """Burgers' equation, exactly, by Cole and Hopf, on a fine grid."""
    points = a.shape[1]
    fine = np.fft.irfft(np.pad(np.fft.rfft(a), ((0, 0), (0, 128 - points // 2))) * (256 / points), 256)
    q = 2 * np.pi * np.fft.rfftfreq(256, 1 / 256)
    F = np.fft.rfft(fine)
    F[:, 0], F[:, 1:] = 0, F[:, 1:] / (1j * q[1:])
    P = np.fft.rfft(np.exp(-np.fft.irfft(F, 256) / (2 * viscosity))) * np.exp(-viscosity * q**2 * t)
    return (-2 * viscosity * np.fft.irfft(1j * q * P, 256) / np.fft.irfft(P, 256))[:, :: 256 // points]


def elliptic(a):
    """−(eᵃ u′)′ = 1, u(0) = u(1) = 0, by quadrature."""
    points = a.shape[1]
    x, w = np.linspace(0, 1, points), np.exp(-a)

    def integral(f):
        return np.concatenate([np.zeros((len(f), 1)), np.cumsum((f[:, 1:] + f[:, :-1]) / 2, 1) / (points - 1)], 1)

    i0, i1 = integral(w), integral(w * x)
    return i0 * (i1[:, -1:] / i0[:, -1:]) - i1


def transport(a):
    """A shift and a little diffusion: a linear map."""
    k = 2 * np.pi * np.fft.rfftfreq(a.shape[1], 1 / a.shape[1])
    return np.fft.irfft(np.fft.rfft(a) * np.exp(-1j * k * 0.2 - 1e-3 * k**2), a.shape[1])


def heat_on_torus(a):
    k = 2 * np.pi * np.fft.fftfreq(a.shape[1], 1 / a.shape[1])
    return np.fft.ifft2(np.fft.fft2(np.exp(a)) * np.exp(-0.01 * (k[:, None] ** 2 + k**2))).real


def noisy(y, rng, level=0.1):
    return y + level * y.std() * rng.normal(size=y.shape)


def repeated(a, rng):
    """Half of the rows are repeats of the others."""
    half = max(1, len(a) // 2)
    return np.concatenate([a[:half], a[rng.integers(0, half, len(a) - half)]])


def two_channels(a):
    return np.stack([np.tanh(a), np.cos(a) * transport(a)], 1)


def curve(v, points=25):
    """Parameters of an oscillator → its motion."""
    t = np.linspace(0, 1, points)
    return np.exp(-v[:, :1] * t) * np.cos(4 * (1 + v[:, 1:2]) * t) * (1 + v[:, 2:3])


def of(inputs, operator, domain, output=None, level=0.0, repeats=False):
    """A problem: rng, n, rough → (a, y, the outputs without noise)."""

    def draw(n, rng, rough=1, size=1.0, fresh=False):
        a = size * inputs(n, rng, rough)
        a = repeated(a, rng) if repeats and not fresh else a
        y = operator(a)
        return a, (noisy(y, rng, level) if level else y)

    return draw, domain, output


def _parameters(n, rng, rough=1):
    return rng.uniform(0, 1, (n, 3)) * rough


PROBLEMS = {
    "tanh": of(series, lambda a: np.tanh(2 * a), CIRCLE),
    "tanh, noise": of(series, lambda a: np.tanh(2 * a), CIRCLE, level=0.1),
    "tanh, repeats": of(series, lambda a: np.tanh(2 * a), CIRCLE, level=0.1, repeats=True),
    "burgers": of(series, burgers, CIRCLE),
    "burgers, noise": of(series, burgers, CIRCLE, level=0.02),
    "transport": of(rough_series, transport, CIRCLE),
    "transport, noise": of(series, transport, CIRCLE, level=0.05),
    "square": of(series, lambda a: transport(a**2) + a.mean(1, keepdims=True), CIRCLE),
    "elliptic": of(on_line, elliptic, LINE),
    "reaction": of(on_line, lambda a: a - a**3 / 3, LINE),
    "heat of exp": of(on_torus, heat_on_torus, TORUS),
    "channels": of(series, two_channels, CIRCLE, Channels(CIRCLE, 2)),
    "oscillator": of(_parameters, curve, Vectors(), LINE),
    "parameters": of(_parameters, lambda v: np.sin(5 * v[:, :1]) * v[:, 1:], Vectors(), Vectors()),
}


def data_of(name, n, seed):
    draw, domain, output = PROBLEMS[name]
    rng = np.random.default_rng([seed, n, list(PROBLEMS).index(name)])
    a, y = draw(n, rng)
    return Dataset(torch.tensor(a), torch.tensor(y), domain, output=output), rng


def fresh_of(name, rng, **how):
    draw, _, _ = PROBLEMS[name]
    a, y = draw(FRESH, rng, fresh=True, **how)
    return torch.tensor(a), torch.tensor(y)


def winner(surrogate):
    contest = surrogate.contest
    partner = f" + {contest.partner[0].candidate.name}" if contest.partner else ""
    return contest.best.candidate.name + partner


def relative(surrogate, prediction, y, output):
    return surrogate.model.trained_.sizes.errors(y, prediction, output.grid_of(y)).relative


def bars(name, n, seed, effort):
    """Coverage of 90 % error bars and the reported over the true error."""
    torch.set_num_threads(1)
    data, rng = data_of(name, n, seed)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        surrogate = raffia.fit(data, effort=effort, seed=seed)
        seconds = time.perf_counter() - begun
        a, y = fresh_of(name, rng)
        mean, std = surrogate.model.predict(a, return_std=True)
    true = float(relative(surrogate, mean, y, data.output_space).mean())
    inside = ((y - mean).abs() <= 1.645 * std).double().mean()
    row = {"problem": name, "n": n, "seed": seed, "winner": winner(surrogate), "coverage": float(inside)}
    row |= {"nan": float(std.isnan().double().mean()), "reported": float(surrogate.errors.mean()), "true": true}
    return row | {"seconds": seconds, "linear": surrogate.baselines.get("the best linear map", math.nan)}


def novelty(name, n, seed, effort):
    """The shares of inputs that are flagged, and the coverage of error bars on those that are not like the training's."""
    torch.set_num_threads(1)
    data, rng = data_of(name, n, seed)
    row = {"problem": name, "n": n, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        surrogate = raffia.fit(data, effort=effort, seed=seed)
        for kind, how in {"same": {}, "larger": {"size": 2.0}, "rougher": {"rough": 2}}.items():
            a, y = fresh_of(name, rng, **how)
            flagged = surrogate.model.novelty(a) > 1
            mean, std = surrogate.model.predict(a, return_std=True)
            inside = ((y - mean).abs() <= 1.645 * std).double().mean()
            row |= {kind: float(flagged.double().mean()), f"coverage {kind}": float(inside)}
    return row | {"winner": winner(surrogate)}


def outliers(name, n, seed, effort):
    """Wrong outputs that are named, false alarms, and what is gained without those that were named."""
    torch.set_num_threads(1)
    data, rng = data_of(name, n, seed)
    wrong = rng.choice(n, max(2, round(0.01 * n)), replace=False)
    y = data.y.clone()
    y[torch.tensor(wrong)] = y[torch.tensor(rng.permutation(n)[: len(wrong)])]
    wrong = [int(i) for i in wrong if not torch.equal(y[i], data.y[i])]
    a, truth = fresh_of(name, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = raffia.fit(data, effort=effort, seed=seed)
        spoilt = raffia.fit(Dataset(data.a, y, data.domain, output=data.output), effort=effort, seed=seed)
        named = spoilt.outliers.rows if spoilt.outliers else []
        kept = [i for i in range(n) if i not in named]
        mended = raffia.fit(Dataset(data.a[kept], y[kept], data.domain, output=data.output), effort=effort, seed=seed)
    error = {
        key: float(relative(clean, one.model.predict(a), truth, data.output_space).mean())
        for key, one in {"clean": clean, "spoilt": spoilt, "mended": mended}.items()
    }
    hits = len(set(named) & set(wrong))
    return {"problem": name, "n": n, "seed": seed, "wrong": len(wrong), "hits": hits, "false": len(named) - hits, **error}


def run(task):
    measure, *arguments = task
    try:
        return {"measure": measure, **{"bars": bars, "novelty": novelty, "outliers": outliers}[measure](*arguments)}
    except Exception as failure:  # a row for what failed, and the others go on
        return {"measure": measure, "problem": arguments[0], "n": arguments[1], "seed": arguments[2], "failed": repr(failure)}


def summary_of_bars(rows):
    print(f"{'problem':18} {'n':>4}  coverage (least, most)   reported/true (least, most)  seconds  winners")
    for name, n in dict.fromkeys((row["problem"], row["n"]) for row in rows):
        some = [row for row in rows if (row["problem"], row["n"]) == (name, n)]
        c, r = [row["coverage"] for row in some], [row["reported"] / row["true"] for row in some]
        print(
            f"{name:18} {n:4}  {np.mean(c):.3f} ({min(c):.2f}, {max(c):.2f})   {math.exp(np.mean(np.log(r))):9.2f} ({min(r):.2f}, "
            f"{max(r):.2f})  {np.mean([row['seconds'] for row in some]):7.1f}  {sorted({row['winner'] for row in some})}"
        )
    for name in dict.fromkeys(row["problem"] for row in rows):
        c = [row["coverage"] for row in rows if row["problem"] == name and row["n"] >= 24]
        print(f"{name:18} from n = 24: mean coverage {np.mean(c or [math.nan]):.3f}")
    r = np.array([row["reported"] / row["true"] for row in rows if row["n"] >= 24])
    print(
        f"reported/true, n ≥ 24: geometric mean {np.exp(np.log(r).mean()):.3f}, within 0.5–2 for {np.mean((r > 0.5) & (r < 2)):.1%}"
    )
    print(f"NaN in {sum(row['nan'] > 0 for row in rows)} of {len(rows)} fits")


def summary_of_novelty(rows):
    for name, n in dict.fromkeys((row["problem"], row["n"]) for row in rows):
        some = [row for row in rows if (row["problem"], row["n"]) == (name, n)]
        keys = ("same", "larger", "rougher", "coverage same", "coverage larger", "coverage rougher")
        print(f"{name:18} {n:4}  " + "  ".join(f"{key} {np.mean([row[key] for row in some]):.2f}" for key in keys))


def summary_of_outliers(rows):
    for name, n in dict.fromkeys((row["problem"], row["n"]) for row in rows):
        some = [row for row in rows if (row["problem"], row["n"]) == (name, n)]
        hits, wrong, false = (sum(row[key] for row in some) for key in ("hits", "wrong", "false"))
        ratio = {key: math.exp(np.mean([math.log(row[key] / row["clean"]) for row in some])) for key in ("spoilt", "mended")}
        print(
            f"{name:18} {n:4}  named {hits} of {wrong}, false {100 * false / (n * len(some)):.2f} per hundred; error over that of "
            f"clean data: with them {ratio['spoilt']:.2f}, without the named {ratio['mended']:.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=["bars", "novelty", "outliers"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 60])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--only", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", help="a file of JSON lines to add the rows to")
    options = parser.parse_args()
    tasks = [
        (options.measure, name, n, seed, options.effort)
        for n in options.sizes
        for name in options.only
        for seed in range(options.seeds)
    ]
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap(run, tasks, chunksize=1):
            print(json.dumps(row) if "failed" in row else ".", end="\n" if "failed" in row else "", flush=True)
            rows.append(row)
            if options.output:
                with open(options.output, "a") as file:
                    file.write(json.dumps(row) + "\n")
    print()
    good = [row for row in rows if "failed" not in row]
    {"bars": summary_of_bars, "novelty": summary_of_novelty, "outliers": summary_of_outliers}[options.measure](good)


if __name__ == "__main__":
    main()
