"""What a fit on a cluster costs: a model of its time against measurements on 1, 2 and 4 local workers.

    python benchmarks/cluster.py [--features 1024] [--blocks 33] [--size 64] [--points 128]

The model has three numbers, all measured in this process: t_block, to make the statistics of one block; t_move, to send statistics
of 8m² bytes and add them; t_solve. The first block sets the model up while the others wait, so with w workers on c cores

    T(w) = t_block + ⌈(blocks − 1) / min(w, c)⌉ t_block + (blocks / min(w, c) + split_every log(blocks)/log(split_every)) t_move + t_solve.

Where others use the machine, look at the CPU time of the busiest worker instead: it is the time with a core for each, but for the
wait at the beginning.
"""

import argparse
import math
import os
import pickle
import time
from functools import partial

import dask
import torch
from distributed import Client, LocalCluster
from sklearn.base import clone

from raffia import Domain, FourierFeatures, GaussianField, RandomFeatureModel
from raffia.model.batches import begin
from raffia.regression import unpacked

SPLIT_EVERY = 4


class Made:
    """Pairs made where they are read: smooth random functions and their squares."""

    def __init__(self, n, points):
        self.n, self.points = n, points

    def __len__(self):
        return self.n

    def read(self, rows):
        """Some of them."""
        a = GaussianField(n_modes=64).sample(range(*rows.indices(self.n)), Domain(1).grid(self.points), seed=0)
        return a, a**2


def seconds(work, repeat=3):
    """The least time of a few, and what it gave."""
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begun)
    return min(times), result


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("features", 1024), ("blocks", 33), ("size", 64), ("points", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    torch.set_num_threads(1)  # as on a worker
    environment = "distributed.nanny.pre-spawn-environ."  # Dask's own has every batch fault its pages in again
    dask.config.set({environment + "MALLOC_TRIM_THRESHOLD_": 2**30, environment + "MALLOC_MMAP_THRESHOLD_": 2**25})
    opened = partial(Made, options.blocks * options.size, options.points)
    model = RandomFeatureModel(FourierFeatures(n_modes=64), options.features, ridge=1e-3)

    block = slice(0, options.size)
    empty = begin(model.settings, *opened().read(block)).empty()
    t_block, part = seconds(lambda: empty.add(*opened().read(block)))
    t_move, _ = seconds(lambda: part.statistics + unpacked(pickle.loads(pickle.dumps(part.statistics.packed()))))
    t_solve, _ = seconds(lambda: part.finish())
    print(f"load {os.getloadavg()[0]:.1f}: more than 1 says that others use this machine, and that times are not worth much")
    print(f"m = {options.features}, {options.blocks} blocks of {options.size} × {options.points} rows")
    print(f"t_block {t_block:.3f} s, t_move {t_move:.3f} s ({statistics.gram.nbytes / 1e6:.1f} MB), t_solve {t_solve:.3f} s")

    cores = len(os.sched_getaffinity(0))
    print(f"\n| workers | modelled s, {cores} cores | measured s | modelled s, a core each | busiest worker, CPU s |")
    print("|---|---|---|---|---|")
    for workers in (1, 2, 4):
        levels = math.log(options.blocks) / math.log(SPLIT_EVERY)
        modelled = [
            t_block * (1 + math.ceil((options.blocks - 1) / at_once))
            + t_move * (options.blocks / at_once + SPLIT_EVERY * levels)
            + t_solve
            for at_once in (min(workers, cores), workers)
        ]
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with cluster, Client(cluster) as client:
            address = client.scheduler.address
            clone(model).fit(partial(Made, 2 * workers, options.points), scheduler=address, block_size=1)  # imports
            before = client.run(time.process_time)
            measured, _ = seconds(lambda: clone(model).fit(opened, scheduler=address, block_size=options.size), repeat=1)  # noqa: B023
            after = client.run(time.process_time)
        busiest = max(after[worker] - before[worker] for worker in before)
        print(f"| {workers} | {modelled[0]:.1f} | {measured:.1f} | {modelled[1]:.1f} | {busiest:.1f} |", flush=True)


if __name__ == "__main__":
    main()
