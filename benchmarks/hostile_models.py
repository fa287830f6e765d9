"""Seconds and memory that loading hostile model files takes, each in a process of its own, and how it ends."""

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.hostile_models import HOSTILE, changed

from raffia import Burgers, FourierFeatures, RaffiaError, RandomFeatureModel, load


def measured(path, sent):
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        load(path)
        said = "loaded"
    except RaffiaError as error:
        said = str(error).replace(str(path), "…")
    seconds = time.perf_counter() - start
    sent.send((seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, said))


def main():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["raffia"])
    with tempfile.TemporaryDirectory() as folder:
        small, hostile = Path(folder) / "small.safetensors", Path(folder) / "hostile.safetensors"
        RandomFeatureModel(FourierFeatures(16), 16, 1e-3).fit(*Burgers(fine_points=64).dataset(20, points=32, seed=0)).save(
            small
        )
        print(f"{'file':<34}{'MB':>6}{'s':>8}{'MiB':>8}  ends in")
        for name, change in HOSTILE.items():
            changed(small, hostile, change)
            mine, theirs = context.Pipe()
            reader = context.Process(target=measured, args=(hostile, theirs))
            reader.start()
            theirs.close()
            size = hostile.stat().st_size / 1e6
            if not mine.poll(60):
                reader.kill()
                print(f"{name:<34}{size:>6.1f}{'> 60':>8}")
            else:
                try:
                    seconds, mebibytes, said = mine.recv()
                    print(f"{name:<34}{size:>6.1f}{seconds:>8.2f}{mebibytes:>8.0f}  {said[:110]}")
                except EOFError:
                    print(f"{name:<34}{size:>6.1f}  a foreign error")
            reader.join()


if __name__ == "__main__":
    main()
