"""raffia beside other methods of operator learning: the same pairs, one table of error, time and memory, one picture.

    python benchmarks/operators.py run   [--quick] [--problems …] [--methods …] [--sizes 50 100 300 1000] [--seeds 3]
                                         [--budget 60] [--python PYTHON]
    python benchmarks/operators.py page  [--output out/operators]

Each run is one process with one row in `benchmarks/history/operators.jsonl`; rows that are there are not run again, so a stopped
benchmark goes on. `--python` is the interpreter of an environment with the peers (`pip install neuraloperator deepxde ezyrb autoemulate`);
a peer whose package is missing has no row. Every method gets the same float32 pairs, and chooses its settings on them alone; the 200 test
pairs are looked at once. Networks have `--budget` seconds for two trials and the last training together. raffia has its defaults.
`--quick` is n = 50 and 300, one seed, five problems, a budget of 15 seconds.
"""

import argparse
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROWS = HERE / "history" / "operators.jsonl"
METHODS = (
    "raffia_default", "linear", "kernel", "gaussian_process", "pca_net", "fno", "deeponet", "pod_deeponet", "random_deeponet", "ezyrb",
    "autoemulate",
)  # fmt: skip
TESTS, DATA_SEED, TEST_SEED = 200, 100, 900


@dataclass(frozen=True)
class Task:
    """A problem of the table: what makes its pairs, and the grid that they are given on."""

    make: Callable[[], object]
    points: int
    periodic: bool
    source: str


def tasks() -> dict[str, Task]:
    """The problems of the table, by name."""
    from raffia import problems as p

    return {
        "burgers": Task(lambda: p.Burgers(viscosity=0.01, time=1.0), 128, True, "Nelsen & Stuart 2024"),
        "darcy": Task(lambda: p.Darcy(fine_points=65), 33, False, "Nelsen & Stuart 2024: two phases, contrast 4"),
        "darcy-lognormal": Task(
            lambda: p.Darcy(law="lognormal", n_modes=100, fine_points=65), 33, False, "smooth coefficients"
        ),
        "advection": Task(lambda: p.Advection(), 200, True, "de Hoop et al. 2022: jumps"),
        "helmholtz": Task(lambda: p.Helmholtz(), 51, False, "de Hoop et al. 2022"),
        "navier-stokes": Task(lambda: p.NavierStokes(viscosity=1e-3, time=1.0), 64, True, "decaying vorticity"),
        "allen-cahn": Task(lambda: p.AllenCahn(time=2.0), 64, True, "two phases"),
        "kdv": Task(lambda: p.KortewegDeVries(), 128, True, "solitons"),
        "swift-hohenberg": Task(lambda: p.SwiftHohenberg(), 64, True, "patterns"),
        "wave": Task(lambda: p.Wave(), 64, True, "variable speed"),
    }


QUICK = ("burgers", "darcy", "advection", "allen-cahn", "kdv")


def pairs(name: str, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training and test pairs as float32 arrays (n, channels, *grid); the same for every method."""
    task = tasks()[name]
    problem = task.make()
    parts = [
        problem.dataset(n, points=task.points, seed=DATA_SEED + seed),
        problem.dataset(TESTS, points=task.points, seed=TEST_SEED),
    ]
    arrays = [np.asarray(f, dtype=np.float32) for part in parts for f in (part.a, part.y)]
    dim = problem.domain.dim
    return tuple(f[:, None] if f.ndim == dim + 1 else f for f in arrays)


def job(name: str, method: str, n: int, seed: int, budget: float) -> dict[str, object] | None:
    """Train one method on one set of pairs, and return the row; None where the method does not apply."""
    import torch

    cache = HERE / "history" / "cache" / f"{name}-{n}-{seed}.npz"
    with np.load(cache) as stored:
        a, y, a_test, y_test = (stored[key] for key in ("a", "y", "a_test", "y_test"))
    periodic = bool(np.load(cache)["periodic"])
    sys.path.insert(0, str(HERE))
    peer = importlib.import_module(f"peers.{method}")
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    predict = peer.fit(a, y, {"kind": "grid", "periodic": periodic}, budget, seed)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    if predict is None:
        return None
    begun = time.perf_counter()
    guess = np.asarray(predict(a_test), dtype=float)
    predicting = time.perf_counter() - begun
    off = np.linalg.norm((guess - y_test).reshape(TESTS, -1), axis=1)
    errors = off / np.linalg.norm(y_test.reshape(TESTS, -1), axis=1)
    return {
        "problem": name, "method": method, "n": n, "seed": seed, "budget": budget, "error": float(errors.mean()),
        "median": float(np.median(errors)), "worst": float(errors.max()), "seconds": seconds,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "predicting": predicting / TESTS, "memory": after.ru_maxrss * 1024, "torch": torch.__version__,
        "threads": torch.get_num_threads(), "machine": platform.processor() or platform.machine(),
    }  # fmt: skip


def done() -> set[tuple[object, ...]]:
    """What has a row already."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    return {tuple(row[key] for key in ("problem", "method", "n", "seed", "budget")) for row in rows}


def run(asked: argparse.Namespace) -> None:
    """Run what has no row yet, a process each."""
    problems, sizes, seeds, budget = asked.problems or list(tasks()), asked.sizes, asked.seeds, asked.budget
    if asked.quick:
        problems, sizes, seeds, budget = asked.problems or list(QUICK), [50, 300], 1, 15.0
    (HERE / "history" / "cache").mkdir(parents=True, exist_ok=True)
    for name in problems:
        for n in sizes:
            for seed in range(seeds):
                todo = [m for m in asked.methods if (name, m, n, seed, budget) not in done()]
                cache = HERE / "history" / "cache" / f"{name}-{n}-{seed}.npz"
                if todo and not cache.exists():
                    a, y, a_test, y_test = pairs(name, n, seed)
                    np.savez(cache, a=a, y=y, a_test=a_test, y_test=y_test, periodic=tasks()[name].periodic)
                for method in todo:
                    words = [asked.python if method != "raffia_default" else sys.executable, __file__, "job", name, method]
                    result = subprocess.run(
                        [*words, str(n), str(seed), str(budget)], capture_output=True, text=True, timeout=3600, check=False
                    )
                    line = result.stdout.strip().splitlines()[-1] if result.returncode == 0 and result.stdout.strip() else ""
                    if line.startswith("{"):
                        with ROWS.open("a") as file:
                            file.write(line + "\n")
                        row = json.loads(line)
                        print(
                            f"{name:16} n={n:<5} seed {seed} {method:18} {row['error']:.3g}  {row['seconds']:.1f} s", flush=True
                        )
                    else:
                        why = (result.stderr.strip().splitlines() or ["does not apply"])[-1]
                        print(f"{name:16} n={n:<5} seed {seed} {method:18} –  {why[:120]}", flush=True)


def page(asked: argparse.Namespace) -> None:
    """Write a page in Markdown with a table for each problem, and two pictures."""
    import matplotlib.pyplot as plt

    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    asked.output.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(row["problem"] for row in rows))
    lines = [
        "# raffia beside other methods",
        "",
        "Mean relative L² error on 200 test pairs (seconds of training, search included).",
        "",
    ]
    for name in names:
        sizes = sorted({row["n"] for row in rows if row["problem"] == name})
        lines += [
            f"## {name}",
            "",
            "| method | " + " | ".join(f"n = {n}" for n in sizes) + " |",
            "|---" * (len(sizes) + 1) + "|",
        ]
        for method in METHODS:
            cells = []
            for n in sizes:
                own = [row for row in rows if (row["problem"], row["method"], row["n"]) == (name, method, n)]
                best = min(
                    np.mean(
                        [row["error"] for row in rows if (row["problem"], row["method"], row["n"]) == (name, m, n)] or [np.inf]
                    )
                    for m in METHODS
                )
                error, seconds = (np.mean([row[key] for row in own]) if own else np.nan for key in ("error", "seconds"))
                mark = "**" if own and error <= best else ""
                cells.append(f"{mark}{error:.2g}{mark} ({seconds:.0f} s)" if own else "–")
            if any(cell != "–" for cell in cells):
                lines.append(f"| {method} | " + " | ".join(cells) + " |")
        lines.append("")
    (asked.output / "operators.md").write_text("\n".join(lines))
    for x, label in (("seconds", "seconds of training, search included"), ("n", "training pairs")):
        fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.4), squeeze=False)
        for axis, name in zip(axes[0], names, strict=True):
            for method in METHODS:
                own = sorted((row[x], row["error"]) for row in rows if (row["problem"], row["method"]) == (name, method))
                if own:
                    style = {"color": "k", "lw": 2.5, "zorder": 5} if method == "raffia_default" else {"lw": 1}
                    axis.loglog(*zip(*own, strict=True), "o-", ms=4, label=method, **style)
            axis.set_title(name)
            axis.set_xlabel(label)
        axes[0][0].set_ylabel("mean relative error")
        axes[0][-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        fig.savefig(asked.output / f"error-against-{x}.png", dpi=150, bbox_inches="tight")
    print(f"wrote {asked.output / 'operators.md'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        os.environ.setdefault("KMP_WARNINGS", "0")
        name, method, n, seed, budget = sys.argv[2:7]
        row = job(name, method, int(n), int(seed), float(budget))
        print(json.dumps(row) if row else "does not apply")
        sys.exit(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--problems", nargs="+", choices=list(tasks()))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 300, 1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds, for networks")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environment with the peers")
    parser.add_argument("--output", type=Path, default=Path("out/operators"))
    asked = parser.parse_args()
    run(asked) if asked.what == "run" else page(asked)
