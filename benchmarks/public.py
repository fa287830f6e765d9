"""Public data of other projects: raffia.fit with default options beside ridge regression and a Matérn kernel on principal components.

    python benchmarks/public.py FOLDER [--only NAME …] [--seeds 1] [--effort normal]

FOLDER is that of `public/load.py` and its neighbours, with the splits; mean relative L² errors on them. The baselines are those of its
README. A seed is that of the contest and of random features; the split is always the same.
"""

import argparse
import importlib.util
import math
import time
from pathlib import Path

import numpy as np
import torch

import raffia
from raffia import Channels, Dataset, Domain, Mesh, Vectors

BASELINES = {
    "cavity": (0.037, 4.5e-7), "elastic": (3.8e-8, 8.9e-5), "burgers256": (0.145, 9.5e-4), "foam": (0.072, 0.072),
    "nir": (0.040, 0.032), "airfoil_transonic": (0.081, 0.0046), "unsteady_tri": (0.199, 0.011), "weather": (1.07, 0.434),
    "advection": (3e-7, 3e-4), "holed_poisson": (0.071, 1e-4), "triangle": (0.0019, 0.018),
}  # fmt: skip
LINE = Domain(1, periodic=False)


def _public(folder: Path, name: str) -> tuple[Dataset, Dataset]:
    spec = importlib.util.spec_from_file_location("load", folder / "public" / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a, y, a_test, y_test = (np.asarray(values, dtype=float) for values in module.load(name))
    domain = Vectors() if a.shape[1] <= 5 else Domain(1) if name == "burgers256" else LINE
    output = Vectors() if y.shape[1] == 1 else domain if name == "burgers256" else LINE
    if y.ndim == 3:  # channels come first
        y, y_test = np.moveaxis(y, -1, 1), np.moveaxis(y_test, -1, 1)
        output = Channels(LINE, y.shape[1])
    return Dataset(a, y, domain, output=output), Dataset(a_test, y_test, domain, output=output)


def _pina(folder: Path, name: str) -> tuple[Dataset, Dataset]:
    def read(file: str) -> torch.Tensor:
        return torch.load(folder / "pina" / file, weights_only=True)

    if name == "advection":
        parts = [
            read(f"advection_{side}_{part}.pt")[..., 0] for part in ("training", "testing") for side in ("input", "output")
        ]
        return Dataset(*parts[:2], Domain(1)), Dataset(*parts[2:], Domain(1))
    data = read("holed_poisson.pt")
    order = torch.from_numpy(np.random.default_rng(0).permutation(121))
    nodes = torch.stack([data["x"][:, 0], data["y"][:, 0]], 1).double()
    mu, u, mesh = data["mu"].double(), data["u"].double().mT.contiguous(), Mesh(nodes)
    train, test = order[:96], order[96:]
    return Dataset(mu[train], u[train], Vectors(), output=mesh), Dataset(mu[test], u[test], Vectors(), output=mesh)


def _triangle(folder: Path, name: str) -> tuple[Dataset, Dataset]:
    parts = []
    for scale in ("0.5", "0.2"):
        data = np.load(folder / "deeponet-extrapolation" / f"poisson_test_ls_{scale}_5082.npz")
        mesh = Mesh(torch.from_numpy(data["X_test1"]).double()) if not parts else parts[0].output
        parts.append(Dataset(data["X_test0"].astype(float), data["y_test"].astype(float), LINE, output=mesh))
    return parts[0], parts[1]


def main() -> None:
    """Print one line a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(BASELINES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--effort", default="normal")
    arguments = parser.parse_args()
    readers = {"advection": _pina, "holed_poisson": _pina, "triangle": _triangle}
    for name in arguments.only:
        train, test = readers.get(name, _public)(arguments.folder, name)
        for seed in range(arguments.seeds):
            begun = time.perf_counter()
            found = raffia.fit(train, held_out=0, seed=seed, effort=arguments.effort)
            predicted = torch.as_tensor(found.model.predict(test.a)).double().flatten(1)
            truth = test.y.double().reshape(len(predicted), -1)
            wrong, size = ((f).norm(dim=1) for f in (predicted - truth, truth))
            error = float(wrong.norm() / size.norm()) if name == "nir" else float((wrong / size).mean())
            ridge, kernel = BASELINES[name]
            ratio, contest = error / min(ridge, kernel), found.contest
            assert contest is not None
            entries = ", ".join(f"{e.candidate.name} {e.error:.2e} {e.seconds:.1f} s" for e in contest.entries)
            mark = "below half" if ratio < 0.5 else "at or below" if ratio <= 1.05 else "ABOVE" if math.isfinite(ratio) else ""
            print(
                f"{name:18} seed {seed}: {error:9.3g}  ridge {ridge:8.2g}  kernel {kernel:8.2g}  {ratio:5.2f} {mark}; "
                f"{contest.best.candidate.name}, {time.perf_counter() - begun:.1f} s ({entries})",
                flush=True,
            )


if __name__ == "__main__":
    main()
