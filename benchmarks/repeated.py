"""What a repeated prediction of one input costs, and how often `raffia.fit` prepares its data; two source trees compare in one run.

python benchmarks/repeated.py [OTHER/src]
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def measure():
    import torch

    from raffia import Domain, Mesh, RandomFeatureModel, ScalarFeatures

    torch.set_num_threads(1)
    nodes = torch.rand(5000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mesh = Mesh(nodes, domain=Domain(2, periodic=False))
    a = torch.rand(20, 5000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model = RandomFeatureModel(ScalarFeatures(64, domain=mesh), 64, 1e-6, output=Domain(0)).fit(a, a[:, 0])
    times = []
    for _ in range(7):
        begun = time.perf_counter()
        for _ in range(200):
            model.predict(a[:1])
        times.append((time.perf_counter() - begun) / 200)
    print(f"{1e3 * sorted(times)[3]:.3f} ms a prediction on a mesh of 5,000 nodes")


def prepared():
    """How often pairs are checked, moved and normalised in a fit with three candidates."""
    from raffia import Burgers, fit
    from raffia.model import preprocessing
    from raffia.tuning import GradientSearch

    calls, pairs = [], preprocessing.Frame.pairs

    def counted(self, *arguments, **options):
        calls.append(type(self))
        return pairs(self, *arguments, **options)

    preprocessing.Frame.pairs = counted
    found = fit(Burgers(fine_points=128).dataset(60, 32, seed=0), n_features=64, tune=GradientSearch(steps=2, contest_steps=1))
    names = ", ".join(entry.candidate.name for entry in found.contest.entries)
    print(
        f"data prepared {len(calls)} times: once for each of {names}, once to train the best and once to train it on all pairs"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] != "--here":
        for tree in (sys.argv[1], str(HERE.parent / "src")):
            print(tree, end=": ", flush=True)
            subprocess.run([sys.executable, __file__, "--here"], check=True, env=os.environ | {"PYTHONPATH": tree})
    else:
        measure()
    if len(sys.argv) < 2 or sys.argv[1] != "--here":
        prepared()
