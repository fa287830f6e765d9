"""The kernel itself, n_features=inf, on 2,000 pairs with outputs on 64 × 64 points: seconds, memory, and scikit-learn at equal settings.

python benchmarks/kernel.py [--pairs 2000]
"""

import argparse
import math
import resource
import time

import numpy as np
import torch
from sklearn.kernel_ridge import KernelRidge

from raffia import Domain, GaussianField, RandomFeatureModel, ScalarFeatures


def main() -> None:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    n = parser.parse_args().pairs
    square = Domain(2)
    a = GaussianField(square, tau=5.0, regularity=3.0, n_modes=200).sample(n + 100, square.grid(64), seed=0)
    a = a / a.std()
    y = torch.tanh(a) * a.mean((1, 2), keepdim=True) + a.roll(5, 2)
    features = ScalarFeatures(None, law="student", dof=5, affine=None, lengthscale=2.0, domain=square)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    model = RandomFeatureModel(features, math.inf, "auto", normalize="function").tune(a[:n], y[:n])
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = a[:n].nbytes + y[:n].nbytes
    print(
        f"tune, n={n}, 64²: {seconds:.1f} s, test error {float(model.errors(a[n:], y[n:]).mean()):.4f}, {model.history_.found}"
    )
    print(
        f"memory taken {(after - before) / 1024:.0f} MiB; 8 n² is {8 * n * n / 2**20:.0f} MiB, the data {data / 2**20:.0f} MiB"
    )
    plain = RandomFeatureModel(features, math.inf, 1e-4).fit(a[:n], y[:n])
    kernel = features.kernel
    theirs = KernelRidge(alpha=1e-4, kernel="precomputed").fit(kernel(a[:n], a[:n]).numpy(), y[:n].reshape(n, -1).numpy())
    wanted = theirs.predict(kernel(a[n:], a[:n]).numpy())
    print(f"largest difference from scikit-learn {np.abs(plain.predict(a[n:]).reshape(100, -1).numpy() - wanted).max():.1e}")


if __name__ == "__main__":
    main()
