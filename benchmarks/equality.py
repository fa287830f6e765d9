"""Does a change keep the numbers? Two source trees on one table of models: the largest relative difference of each kind of number.

python benchmarks/equality.py OTHER/src [--dask] [--public FOLDER] [--only TEXT]

The table has every feature map, kind of coefficients, solver, constraint and search, and all pairs of spaces, plain and normalised.
Compared are coefficients, ridges, errors, predictions, error bars and bands, models fitted in batches, extended, pruned, moved to another
space, rolled out and saved. Files that the other tree wrote are read by this one. With --public, surrogates of public data sets are
compared too (a folder with a module load.py).
"""

import argparse
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
PUBLIC = ("elastic", "burgers256", "foam", "nir", "airfoil_transonic", "unsteady_tri", "weather")


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def table():
    """Name → (inputs, outputs, arguments of the model)."""
    from raffia import (
        Burgers,
        Channels,
        Domain,
        FourierFeatures,
        GaussianField,
        LocalFeatures,
        PredictorCorrectorFeatures,
        ScalarFeatures,
        Vectors,
    )
    from raffia.constraints import BoundaryValues, Bounded, Conserved, MonotoneAlong
    from raffia.features import (
        BranchTrunk,
        BrownianBridge,
        CarriedFeatures,
        IteratedFeatures,
        NeuralFeatures,
        PlacedFeatures,
        Union,
    )
    from raffia.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse

    devices = module(HERE / "devices.py")
    circle, line = Domain(1), Domain(1, periodic=False)
    burgers = tuple(Burgers(fine_points=256).dataset(40, 64, seed=0))
    darcy = devices.CASES["Darcy"][0]
    box = tuple(GaussianField(line, "neumann", n_modes=12).sample(24, line.grid(33), seed=s).double() for s in (0, 1))
    box = (box[0], box[0] + 0.3 * box[0] ** 2)
    square = Domain(2)
    flow = GaussianField(square, n_modes=20).sample(16, square.grid(16), seed=0).double()
    flow = (flow, flow.roll(1, -1))
    rows = {name: (a, y, {"feature_map": f, "n_features": 128, **s}) for name, ((a, y), f, s) in devices.CASES.items()}
    maps = {
        "fourier": (burgers, FourierFeatures()),
        "fourier tanh": (burgers, FourierFeatures(12, activation="tanh", bias=0.5, amplitude=8.0, tau=14.0)),
        "fourier box": (box, FourierFeatures(12, domain=line, profile="matern", amplitude=3.0, activation="gelu")),
        "scalar": (burgers, ScalarFeatures(16)),
        "student": (burgers, ScalarFeatures(16, law="student", whitening=0.5, affine=None)),
        "neural": (burgers, NeuralFeatures(BranchTrunk(width=6, rank=3, n_modes=5))),
        "union": (burgers, Union((FourierFeatures(8), FourierFeatures(4, activation="tanh", tau=9.0)))),
        "bridge": (burgers, BrownianBridge(20)),
        "local": (burgers, LocalFeatures(0.5)),
        "placed": (box, PlacedFeatures(FourierFeatures(10, domain=line, profile="matern", amplitude=2.0), n_modes=6)),
        "iterated": (burgers, IteratedFeatures(1, 0.5, n_modes=8, domain=circle)),
        "carried": (flow, CarriedFeatures()),
        "darcy": (darcy, PredictorCorrectorFeatures()),
    }
    for name, ((a, y), feature_map) in maps.items():
        for coefficients in ("ordinary", "modal") if name not in ("scalar", "student", "bridge") else ("ordinary",):
            for normalize in (False, True, "function"):
                for ridge in (1e-4, "auto"):
                    options = {"ridge": ridge, "normalize": normalize, "coefficients": coefficients}
                    rows[f"{name} {options}"] = (a, y, {"feature_map": feature_map, "n_features": 24, **options})
    for m in (24, 96):
        for solver in (Cholesky(), Dual(), NystromPCG(), Pseudoinverse()):
            rows[f"{solver!r} {m}"] = (
                *burgers,
                {"feature_map": ScalarFeatures(16), "n_features": m, "ridge": 1e-6, "solver": solver},
            )
    for one in (Conserved(), BoundaryValues(0.0), Bounded(high=0.5), MonotoneAlong()):
        a, y = box if isinstance(one, (BoundaryValues, MonotoneAlong)) else burgers
        with suppress(TypeError):
            rows[f"{one!r}"] = (
                a,
                y,
                {
                    "feature_map": maps["fourier box" if a is box[0] else "fourier"][1],
                    "n_features": 24,
                    "ridge": 1e-4,
                    "constraints": [one],
                },
            )
    pairs = [(ScalarFeatures(6, 0.5, domain=d), d, o) for d in devices.SPACES if d.ndim for o in devices.SPACES]
    shape = {"profile": "matern", "amplitude": 1.0, "bias": 0.5, "activation": "tanh"}
    functions = [d for d in devices.SPACES if d.ndim and not isinstance(d, Vectors)]
    pairs += [(FourierFeatures(10, domain=d, **shape), d, d.of if isinstance(d, Channels) else d) for d in functions]
    kernels = [
        (ScalarFeatures(None, 0.5, law=law, domain=d), d, o)
        for law in ("student", "affine")
        for d in devices.SPACES
        if d.ndim
        for o in devices.SPACES
    ]
    for i, (features, domain, output) in enumerate(pairs + kernels):
        m = 60 if i < len(pairs) else math.inf
        for coefficients in ("ordinary", "modal") if isinstance(features, FourierFeatures) else ("ordinary",):
            for normalize, ridge in ((False, 1e-2), (True, "auto")):
                options = {"output": output, "ridge": ridge, "normalize": normalize, "coefficients": coefficients}
                data = devices.samples(domain, 0), devices.samples(output, 1)
                rows[f"pair {i} {coefficients} {ridge}"] = (*data, {"feature_map": features, "n_features": m, **options})
    return rows


def numbers_of(make, a, y, folder, name, options):
    """All that a model of the table gives; what it does not offer is left out."""
    from raffia import RaffiaError, load
    from raffia.tuning import GradientSearch

    model = make().fit(a, y)
    numbers = {"coef": model.coef_, "ridge": model.ridge_, "mean": model.predict(a), "errors": model.errors(a, y)}
    batches = [(a[i : i + 5], y[i : i + 5]) for i in range(0, len(a), 5)]
    path = Path(folder) / f"{abs(hash(name))}.safetensors"
    model.save(path)
    offers = {
        "saved": lambda: load(path).predict(a),
        "loo": lambda: torch.as_tensor(model.loo_error_),
        "std": lambda: model.predict(a, return_std=True)[1],
        "band": lambda: torch.stack(model.conformal(a, y, 0.8)(a)),
        "novelty": lambda: model.novelty(a),
        "rollout": lambda: model.rollout(a[:3], 2),
        "pruned": lambda: model.prune(12).predict(a),
        "batches": lambda: make().fit(batches).predict(a),
        "extended": lambda: make().partial_fit(*batches[0]).partial_fit(*batches[1]).predict(a),
        "vector": lambda: model.at()(model.at().grid.embed(a[:2]) if hasattr(model.at().grid, "embed") else a[:2].flatten(1)),
        "tuned": lambda: (
            make().tune(a, y, GradientSearch(steps=2)).predict(a) if options.tune and name.endswith("1e-4") else None
        ),
    }
    if options.dask and model.solver is None:
        import dask.array

        chunks = [dask.array.from_array(f.numpy(), chunks=(5, *f.shape[1:])) for f in (a, y)]
        offers["dask"] = lambda: make().fit(*chunks).predict(a)
    for kind, offer in offers.items():
        with suppress(RaffiaError, AttributeError, TypeError):
            if (value := offer()) is not None:
                numbers[kind] = value
    return {kind: torch.as_tensor(value).detach().numpy() for kind, value in numbers.items()}


def dump(options):
    """All numbers of the tree that is imported, into a file; the models of the other tree are in a folder of their own."""
    import raffia
    from raffia import Dataset, RandomFeatureModel, Vectors, load

    torch.set_num_threads(1)  # sums in one order
    results, files = {}, Path(options.dump).with_suffix("")
    files.mkdir()
    for name, (a, y, arguments) in table().items():
        if options.only and options.only not in name:
            continue
        try:
            row = numbers_of(lambda arguments=arguments: RandomFeatureModel(**arguments), a, y, files, name, options)
        except raffia.RaffiaError as error:
            row = {"refused": np.array(str(error))}
        except Exception:
            raise RuntimeError(f"{name}\n{traceback.format_exc()}") from None
        earlier = Path(options.earlier) / f"{abs(hash(name))}.safetensors" if options.earlier else None
        if earlier and earlier.exists():
            row["read"] = load(earlier).predict(a).numpy()
        elif "mean" in row:
            row["read"] = row["mean"]
        results |= {f"{name}/{kind}": value for kind, value in row.items()}
    for name in PUBLIC if options.public else ():
        a, y, rows, test = module(Path(options.public) / "load.py").__dict__[name]()
        a, y = (torch.from_numpy(np.asarray(f)).double().reshape(len(f), -1) for f in (a, y))
        surrogate = raffia.fit(Dataset(a[rows], y[rows], Vectors(), output=Vectors()), n_features=256)
        results[f"{name}/mean"] = surrogate.model.predict(a[test]).numpy()
        results[f"{name}/held out"] = surrogate.errors.numpy()
    np.savez(options.dump, **{key.replace("/", "|"): value for key, value in results.items()})


def difference(before, after, size):
    """The largest, relative to a size; words must be equal."""
    if before.dtype.kind == "U":
        return 0.0 if str(before) == str(after) else math.inf
    if before.shape != after.shape:
        return math.inf
    finite = np.isfinite(before)
    if not np.array_equal(finite, np.isfinite(after)):
        return math.inf
    return float(np.abs(after[finite] - before[finite]).max(initial=0.0)) / size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("other", type=Path)
    for flag in ("--dask", "--tune"):
        parser.add_argument(flag, action="store_true")
    for option in ("--public", "--only", "--dump", "--earlier", "--cache"):
        parser.add_argument(option)
    options = parser.parse_args()
    if options.dump:
        dump(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(options.cache or folder) / "before.npz", Path(folder) / "after.npz"]
        passed = [word for word in sys.argv[2:] if word != "--cache" and word != options.cache]
        for file, tree in zip(files, (options.other, HERE.parent / "src"), strict=True):
            if file.exists():
                continue
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)
            words = [sys.executable, __file__, str(tree), *passed, "--dump", str(file)]
            words += ["--earlier", str(files[0].with_suffix(""))] if file is files[1] else []
            subprocess.run(words, check=True, env=os.environ | {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"})
        before, after = (dict(np.load(file)) for file in files)
    chosen = {key for key in before if not options.only or options.only in key}
    print("only in one tree:", sorted(chosen ^ set(after)) or "nothing")
    worst = {}
    for key in sorted(chosen & set(after)):
        name, kind = key.rsplit("|", 1)
        values = before.get(f"{name}|mean" if kind == "std" else key, before[key])  # error bars may be rounding of predictions
        finite = values[np.isfinite(values)] if values.dtype.kind != "U" else np.zeros(0)
        size = 1.0 if kind == "errors" else float(np.abs(finite).max(initial=0.0)) or 1.0  # errors are relative already
        worst.setdefault(kind, []).append((difference(before[key], after[key], size), key))
    for kind, rows in worst.items():
        equal, largest = sum(value == 0 for value, _ in rows), max(rows)
        print(f"{kind:10} {len(rows):4} compared, {equal:4} bit for bit, largest difference {largest[0]:.1e} ({largest[1]})")


if __name__ == "__main__":
    main()
