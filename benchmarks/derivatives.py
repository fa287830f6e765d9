"""What it costs that predictions have derivatives, where nobody asks for them: seconds and bits, now and before.

    git archive COMMIT src | tar x -C FOLDER
    python benchmarks/derivatives.py FOLDER/src [--rounds 15] [--only NAME …]

COMMIT is one from before derivatives. Both versions load the same models and predict the same inputs, in two processes that take turns,
and answer by the CPU time of the process: the least and the median of all rounds. Models are fitted and saved by the version before.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
LEAST = 0.05
"""Seconds that one turn takes, at least: as many predictions as that."""


def models():
    """A dozen: their features, the shape of inputs, how many of them, and options; only what both versions have."""
    from raffia import Channels, Domain, FourierFeatures, LocalFeatures, PredictorCorrectorFeatures, ScalarFeatures, Vectors

    line, square, box = Domain(1), Domain(2), Domain(2, periodic=False)
    fourier = {"profile": "matern", "amplitude": 2.0, "bias": 0.5}
    return {
        "Fourier, ELU, one input": (FourierFeatures(), (128,), 1, {}),
        "Fourier, ELU": (FourierFeatures(), (128,), 64, {}),
        "Fourier, tanh, float32": (FourierFeatures(activation="tanh", **fourier), (128,), 64, {"single": True}),
        "Fourier, GELU, modal": (FourierFeatures(activation="gelu", **fourier), (128,), 64, {"coefficients": "modal"}),
        "Fourier, two channels": (FourierFeatures(domain=Channels(line, 2), **fourier), (2, 128), 64, {}),
        "Fourier, torus": (FourierFeatures(64, domain=square, **fourier), (32, 32), 8, {}),
        "Fourier, box, normalised": (FourierFeatures(64, domain=box, **fourier), (33, 33), 8, {"normalize": True}),
        "local, modal": (LocalFeatures(0.2), (128,), 64, {"coefficients": "modal", "normalize": True}),
        "predictor–corrector": (PredictorCorrectorFeatures(eta=1e-4), (33, 33), 16, {}),
        "scalar, one input": (ScalarFeatures(32), (128,), 1, {}),
        "scalar": (ScalarFeatures(32), (128,), 256, {}),
        "kernel": (ScalarFeatures(32), (128,), 64, {"n_features": float("inf")}),
        "vectors, NumPy": (ScalarFeatures(8, domain=Vectors()), (8,), 256, {"arrays": True}),
    }


def inputs(shape, count, seed):
    return 0.5 + np.random.default_rng(seed).random((count, *shape))


def serve(folder, fitting):
    """Answer names of models by the CPU seconds of a prediction and a hash of it; or fit and save all of them."""
    import torch

    from raffia import RandomFeatureModel, load

    torch.set_num_threads(1)
    loaded = {}
    for number, (name, (feature_map, shape, count, options)) in enumerate(models().items()):
        single, arrays = options.pop("single", False), options.pop("arrays", False)
        path = Path(folder) / f"{number}.safetensors"
        if fitting:
            a = torch.from_numpy(inputs(shape, 80, 0))
            y = torch.sin(2 * a) + a.roll(1, -1)
            RandomFeatureModel(feature_map, options.pop("n_features", 256), 1e-3, **options).fit(a, y).save(path)
            continue
        a = torch.from_numpy(inputs(shape, count, 1))
        a = a.float() if single else a.numpy() if arrays else a
        loaded[name] = load(path), a
    print("ready", flush=True)
    for request in sys.stdin:
        name, times = request.strip().split("\t")
        model, a = loaded[name]
        start = time.process_time()
        for _ in range(int(times)):
            values = model.predict(a)
        seconds = (time.process_time() - start) / int(times)
        print(f"{seconds!r}\t{hashlib.sha256(np.asarray(values).tobytes()).hexdigest()}", flush=True)


class Version:
    """A process that has one version of raffia."""

    def __init__(self, source, folder, fitting=False):
        command = [sys.executable, str(HERE), "--serve", folder, *(["--fitting"] if fitting else [])]
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __call__(self, name, times):
        """CPU seconds of a prediction, and its hash."""
        self.process.stdin.write(f"{name}\t{times}\n")
        self.process.stdin.flush()
        seconds, values = self.process.stdout.readline().rstrip("\n").split("\t")
        return float(seconds), values

    def end(self):
        """Let it end."""
        self.process.stdin.close()
        self.process.wait()


def compare(before, rounds, only):
    with tempfile.TemporaryDirectory() as folder:
        Version(before, folder, fitting=True).end()  # by itself: what a process did before changes how it finds memory
        old, new = (Version(source, folder) for source in (before, HERE.parent.parent / "src"))
        print(f"{'ms, least':>42} {'before':>9} {'now':>9} {'ratio':>7} {'of medians':>11}  bits", flush=True)
        for name in models():
            if only and name not in only:
                continue
            times = max(1, int(LEAST / max(1e-6, min(version(name, 3)[0] for version in (old, new)))))
            pairs = [
                (old(name, times), new(name, times)) if i % 2 else (new(name, times), old(name, times))[::-1]
                for i in range(rounds)
            ]
            least = [1e3 * min(pair[i][0] for pair in pairs) for i in range(2)]
            middle = [statistics.median(pair[i][0] for pair in pairs) for i in range(2)]
            same = "the same" if len({value[1] for pair in pairs for value in pair}) == 1 else "other"
            print(
                f"{name:>42} {least[0]:9.3f} {least[1]:9.3f} {least[1] / least[0]:7.3f} {middle[1] / middle[0]:11.3f}  {same}",
                flush=True,
            )
        for version in (old, new):
            version.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("before", nargs="?")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--serve")
    parser.add_argument("--fitting", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.fitting)
    elif given.before is None:
        parser.error("name the src of the version before derivatives")
    else:
        compare(given.before, given.rounds, given.only)
