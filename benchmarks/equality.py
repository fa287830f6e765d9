"""Does a change keep the numbers? Two source trees on the same problems: the largest relative difference of each kind of number.

python benchmarks/equality.py OTHER/src [--dask] [--public FOLDER]

Compares coefficients, predictions, error bars, and predictions of models saved, streamed and fitted on a cluster: on all pairs of spaces
of devices.py, on its benchmark problems, and with --public on surrogates of public data sets (a folder with a module load.py).
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
PUBLIC = ("elastic", "burgers256", "foam", "nir", "airfoil_transonic", "unsteady_tri", "weather")


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def streamed(model, a, y):
    """In batches of five, by whichever way the tree has."""
    batches = [(a[i : i + 5], y[i : i + 5]) for i in range(0, len(a), 5)]
    return model.fit(batches)


def on_cluster(model, a, y):
    import dask.array

    return model.fit(*(dask.array.from_array(f.numpy(), chunks=(5, *f.shape[1:])) for f in (a, y)))


def of_model(name, make, a, y, options):
    from raffia import RaffiaError, load

    model = make().fit(a, y)
    found = {"coef": model.coef_, "mean": model.predict(a), "errors": model.errors(a, y)}
    with suppress(RaffiaError):  # numbers and several channels have no error bars
        found["std"] = model.predict(a, return_std=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.safetensors")
        found["saved"] = load(Path(folder) / "m.safetensors").predict(a)
    if model.ridge != "auto" and model.solver is None:
        found["streamed"] = streamed(make(), a, y).predict(a)
        if options.dask:
            found["dask"] = on_cluster(make(), a, y).predict(a)
    return {f"{name}/{key}": torch.as_tensor(value).detach().double().numpy() for key, value in found.items()}


def dump(options):
    """All numbers of the tree that is imported, into a file."""
    import raffia
    from raffia import Channels, Dataset, FourierFeatures, RandomFeatureModel, ScalarFeatures, Vectors

    torch.set_num_threads(1)  # sums in one order
    devices = module(HERE / "devices.py")
    found = {}
    for name, ((a, y), features, settings) in devices.CASES.items():
        found |= of_model(name, lambda f=features, s=settings: RandomFeatureModel(f, 128, **s), a, y, options)
    pairs = [(ScalarFeatures(6, 0.5, domain=d), d, o) for d in devices.SPACES if d.ndim for o in devices.SPACES]
    shape = {"profile": "matern", "amplitude": 1.0, "bias": 0.5, "activation": "tanh"}
    functions = [d for d in devices.SPACES if d.ndim and not isinstance(d, Vectors)]
    pairs += [(FourierFeatures(10, domain=d, **shape), d, d.of if isinstance(d, Channels) else d) for d in functions]
    for i, (features, domain, output) in enumerate(pairs):
        a, y = devices.samples(domain, 0), devices.samples(output, 1)
        for ridge in (1e-2, "auto"):
            for normalize in (False, True):
                make = lambda f=features, o=output, r=ridge, n=normalize: RandomFeatureModel(f, 60, r, output=o, normalize=n)  # noqa: E731
                found |= of_model(f"pair {i} {ridge} {normalize}", make, a, y, options)
    for name in PUBLIC if options.public else ():
        a, y, rows, test = module(Path(options.public) / "load.py").__dict__[name]()
        a, y = (torch.from_numpy(np.asarray(f)).double().reshape(len(f), -1) for f in (a, y))
        surrogate = raffia.fit(Dataset(a[rows], y[rows], Vectors(), output=Vectors()), n_features=256)
        found[f"{name}/mean"] = surrogate.model.predict(a[test]).numpy()
        found[f"{name}/held out"] = surrogate.errors.numpy()
    np.savez(options.dump, **{key.replace("/", "|"): value for key, value in found.items()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("other", type=Path)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--public")
    parser.add_argument("--dump")
    options = parser.parse_args()
    if options.dump:
        dump(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for tree in (options.other, HERE.parent / "src"):
            files.append(Path(folder) / f"{len(files)}.npz")
            words = [sys.executable, __file__, str(tree), "--dump", str(files[-1]), *(["--dask"] if options.dask else [])]
            words += ["--public", options.public] if options.public else []
            subprocess.run(words, check=True, env=os.environ | {"PYTHONPATH": str(tree)})
        before, after = (dict(np.load(file)) for file in files)
    assert set(before) == set(after), set(before) ^ set(after)
    worst = {}
    for key, value in before.items():
        kind = key.split("|")[1] if not key.startswith(PUBLIC) else key
        size = (
            float(np.abs(before.get(key.replace("std", "mean"), value)).max()) or 1.0
        )  # error bars may be rounding of predictions
        size = 1.0 if key.endswith("errors") else size  # which are relative already
        worst.setdefault(kind, []).append((float(np.abs(after[key] - value).max()) / size, key))
    for kind, differences in worst.items():
        equal, largest = sum(difference == 0 for difference, _ in differences), max(differences)
        print(
            f"{kind:28} {len(differences):4} compared, {equal:4} bit for bit, largest difference {largest[0]:.1e} ({largest[1]})"
        )


if __name__ == "__main__":
    main()
