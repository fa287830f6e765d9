"""Fit a Zarr data set of 8 GB in little memory: peak resident memory, time, and the error on the tail that was held out.

    python benchmarks/out_of_core.py FOLDER [--gigabytes 8] [--points 8192] [--features 512] [--stop-after SECONDS]

Inputs are smooth random functions on the circle, outputs their squares after a low-pass filter, float32, in chunks. The folder is
made and removed. The fit runs in a process of its own, because a peak never goes down. With --stop-after, that process is killed
after so many seconds and started again, and goes on from its checkpoint.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

CHUNK, HELD_OUT = 256, 512


def generate(folder, n, points):
    import torch
    import zarr

    from raffia import Domain, GaussianField

    field, grid = GaussianField(n_modes=64), Domain(1).grid(points)
    damping = torch.exp(-1e-3 * torch.arange(points // 2 + 1, dtype=torch.float64) ** 2)
    a, y = (
        zarr.create_array(folder / name, shape=(n, points), chunks=(CHUNK, points), dtype="float32", compressors=None)
        for name in "ay"
    )
    for start in range(0, n, CHUNK):
        rows = slice(start, min(start + CHUNK, n))
        inputs = field.sample(range(rows.start, rows.stop), grid, seed=0)
        outputs = torch.fft.irfft(damping * torch.fft.rfft(inputs**2), n=points)
        a[rows], y[rows] = inputs.float().numpy(), outputs.float().numpy()


class Stored:
    """The pairs of the folder but the last ones, which are held out."""

    def __init__(self, folder):
        import zarr

        self.a, self.y = (zarr.open_array(Path(folder) / name, mode="r") for name in "ay")

    def __len__(self):
        return self.a.shape[0] - HELD_OUT

    def batches(self, size, start=0):
        """In order, from row `start` on."""
        for row in range(start, len(self), size):
            rows = slice(row, min(row + size, len(self)))
            yield self.a[rows], self.y[rows]


def fit(folder, features, checkpoint):
    import numpy as np

    from raffia import FourierFeatures, RandomFeatureModel

    source = Stored(folder)
    model = RandomFeatureModel(FourierFeatures(n_modes=64), features, ridge="auto", points=128)
    begun = time.perf_counter()
    model.fit(source, batch_size=CHUNK, checkpoint=checkpoint)
    seconds = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_SELF)
    y = source.y[-HELD_OUT:]
    error = float(np.linalg.norm(y - model.predict(source.a[-HELD_OUT:])) / np.linalg.norm(y))
    found = {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}
    print(json.dumps(found | {"error": error, "expected": model.fold_error_}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--points", type=int, default=8192)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--stop-after", type=float)
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    checkpoint = options.folder / "run.checkpoint"
    if options.fit:
        return fit(options.folder, options.features, checkpoint)

    n = int(-(-options.gigabytes * 1e9 // (8 * options.points)))
    options.folder.mkdir(parents=True)
    try:
        begun = time.perf_counter()
        generate(options.folder, n, options.points)
        size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
        print(f"{n} pairs of {options.points} points, {size / 1e9:.2f} GB, generated in {time.perf_counter() - begun:.0f} s")
        command = [sys.executable, __file__, str(options.folder), "--fit", "--features", str(options.features)]
        if options.stop_after:
            first = subprocess.Popen(command)
            time.sleep(options.stop_after)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            print(f"killed after {options.stop_after:.0f} s; the checkpoint has {checkpoint.stat().st_size / 1e6:.1f} MB")
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        took = f"{found['seconds']:.0f} s ({found['cpu']:.0f} s of one core)"
        print(f"{options.features} features fitted in {took}, {found['peak']:.0f} MiB resident at the peak")
        print(f"relative error {found['error']:.4f} in the mean square; {found['expected']:.4f} expected from the folds")
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
