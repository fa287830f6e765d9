"""What a fit does within its budget: seconds, processor time and errors of a default fit, on data of many sizes.

python benchmarks/budget.py burgers [--effort normal] [--threads 1]    512 pairs of Burgers' equation
python benchmarks/budget.py sizes [--only NAME …] [--budget 60]        many sizes and kinds of data, to the report
python benchmarks/budget.py chosen [--n 20 60 100 300]                 the chosen model beside the best entry in hindsight
"""

import argparse
import math
import tempfile
import time
from pathlib import Path

import torch

import raffia
from raffia import Burgers, Darcy, Dataset, Domain, GaussianField, Vectors
from raffia.metrics import relative_error
from raffia.problems import Advection, NavierStokes
from raffia.report import report

TESTS = 500


def fields(n, points, dim, seed=0):
    domain = Domain(dim)
    return GaussianField(domain, n_modes=64, tau=5.0).sample(n, domain.grid(points), seed=seed)


def smooth_squares(n, points, dim):
    a = fields(n, points, dim)
    return Dataset(a, a.roll(points // 8, -1) ** 2 + a, Domain(dim))


def parameters(n, points):
    a = torch.rand(n, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = torch.linspace(0, 1, points, dtype=torch.float64)
    return Dataset(
        a,
        torch.sin(3 * a[:, :1] + 5 * a[:, 1:2] * x) * torch.exp(-a[:, 2:3] * x) + a[:, 3:],
        Vectors(),
        output=Domain(1, periodic=False),
    )


SIZES = {
    "Burgers, 20 pairs": lambda: Burgers().dataset(20, 64, seed=0),
    "Burgers, 300 pairs": lambda: Burgers().dataset(300, 128, seed=0),
    "advection, 1000 pairs": lambda: Advection(profile="jumps").dataset(1000, 200, seed=0),
    "Darcy, 200 pairs, 33²": lambda: Darcy(fine_points=65).dataset(200, 33, seed=0),
    "Navier–Stokes, 100 pairs, 32²": lambda: NavierStokes(time=2.0, fine_points=64).dataset(100, 32, seed=0),
    "squares, 20,000 pairs, 64 points": lambda: smooth_squares(20_000, 64, 1),
    "squares, 5,000 pairs, 64²": lambda: smooth_squares(5_000, 64, 2),
    "squares, 200 pairs, 256²": lambda: smooth_squares(200, 256, 2),
    "parameters, 20,000 pairs": lambda: parameters(20_000, 50),
    "parameters, 40 pairs": lambda: parameters(40, 50),
}


def error_of(model, test):
    return float(relative_error(test.y, model.predict(test.a)))


def burgers(options):
    torch.set_num_threads(options.threads or torch.get_num_threads())
    data = Burgers().dataset(512 + TESTS, 128, seed=0)
    train, test = data.part(range(512)), data.part(range(512, 512 + TESTS))
    begun, cpu = time.perf_counter(), time.process_time()
    surrogate = raffia.fit(train, effort=options.effort)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    print(f"{options.effort}: {seconds:.1f} s, {cpu:.1f} s of processor time, {torch.get_num_threads()} threads")
    print(f"error {error_of(surrogate.model, test):.6f}; {surrogate.plan.words}")
    for row in surrogate.contest.rows:
        print("   ", "  ".join(row))


def sizes(options):
    for name, make in SIZES.items():
        if options.only and not any(name.startswith(wanted) for wanted in options.only):
            continue
        data = make()
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            surrogate = raffia.fit(data, budget=options.budget)
            fitted = time.perf_counter() - begun
            report(surrogate, Path(folder) / "page.html")
            whole = time.perf_counter() - begun
        best = surrogate.contest.best.candidate.name
        print(
            f"{name}: {fitted:.1f} s, {whole:.1f} s with the report; {best}, error {float(surrogate.errors.mean()):.4g}",
            flush=True,
        )


def chosen(options):
    ratios = []
    problems = {"Burgers": (Burgers(), 64), "advection": (Advection(), 64), "Darcy": (Darcy(fine_points=65), 17)}
    for name, (problem, points) in problems.items():
        test = problem.dataset(TESTS, points, seed=1)
        for n in options.n:
            data = problem.dataset(n, points, seed=0)
            surrogate = raffia.fit(data, budget=options.budget)
            own, others = error_of(surrogate.model, test), {}
            for entry in surrogate.contest.entries:
                candidate = entry.candidate
                if entry.predicted is None:
                    continue
                options_of = (
                    {} if candidate.kernel else {"coefficients": candidate.coefficients, "normalize": candidate.normalize}
                )
                features = candidate.name if candidate.kernel else candidate.feature_map
                others[candidate.name] = error_of(raffia.fit(data, features, held_out=0, **options_of).model, test)
            ratios.append(own / min(own, *others.values()))
            print(f"{name}, n = {n}: {own:.4g}, {ratios[-1]:.2f} times the best of {others}", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, worst {max(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["burgers", "sizes", "chosen"])
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    parser.add_argument("--n", type=int, nargs="*", default=[20, 60, 100, 300])
    options = parser.parse_args()
    {"burgers": burgers, "sizes": sizes, "chosen": chosen}[options.what](options)


if __name__ == "__main__":
    main()
