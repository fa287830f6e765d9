"""
How do I train on data that do not fit into memory?
===================================================

After this page you can train from a stream of batches. Training needs only sums over the samples, so each batch can be discarded.
"""

import matplotlib.pyplot as plt
import numpy as np

from raffia import RandomFeatureModel
from raffia.features import LocalFeatures


def batches(count):
    """Yield `count` batches of 20 pairs: random functions a on 32 points, and their shifted squares."""
    for seed in range(count):
        coefficients = np.random.default_rng(seed).standard_normal((20, 9))
        a = np.fft.irfft(coefficients, n=32, axis=1)
        yield a, np.roll(a**2, 1, axis=1)


test_a, test_y = next(iter(batches(1)))
counts, errors = [5, 10, 20, 40, 80], []
for count in counts:
    model = RandomFeatureModel(LocalFeatures(), n_features=64, ridge=1e-8, coefficients="modal")
    model.fit((a, y) for seed, (a, y) in enumerate(batches(count + 1)) if seed > 0)
    errors.append(-model.score(test_a, test_y))
plt.loglog([20 * count for count in counts], errors, "o-")
plt.xlabel("pairs streamed")
plt.ylabel("mean relative error on other pairs")

# %%
# A long run writes checkpoints. After an interruption it continues, and the result is the same, bit for bit::
#
#     model.fit(batches(1000), checkpoint="run.checkpoint")
#
# Files larger than memory are streamed by ``raffia fit`` without any option.

print(f"{errors[-1]:.4f}")
