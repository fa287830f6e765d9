"""Peak extra memory of fitting n=512, m=1024, K=1024, whose features are 4.3 GB, for several budgets.

    python benchmarks/memory.py

Each fit runs in its own process, because a peak never goes down.
"""

import resource
import subprocess
import sys


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(budget):
    import torch

    from raffia import Domain, FourierFeatures, GaussianField, RandomFeatureModel

    a = GaussianField().sample(512, Domain(1).grid(1024), seed=0)
    torch.linalg.eigh(torch.eye(64, dtype=torch.float64))
    RandomFeatureModel(FourierFeatures(), 8).fit(a[:8], a[:8])
    before = peak_megabytes()
    RandomFeatureModel(FourierFeatures(), 1024, memory_budget=budget).fit(a, a)
    print(f"{(budget or 2**30) / 2**20:8.0f} MiB budget: {peak_megabytes() - before:8.0f} MiB at the peak")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fit(int(sys.argv[1]) or None)
    else:
        for megabytes in (0, 128, 4096):
            subprocess.run([sys.executable, __file__, str(megabytes * 2**20)], check=True)
