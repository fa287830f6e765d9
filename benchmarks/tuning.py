"""Tuned Burgers models: test error and seconds, from the default starting values, tuned on training data only.

python benchmarks/tuning.py [--device cuda] [--seeds 3] [--features 1024 4096] [--samples 512]
"""

import argparse
import time

import numpy as np
import torch

from raffia import Burgers, FourierFeatures, RandomFeatureModel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--features", type=int, nargs="+", default=[1024])
    parser.add_argument("--samples", type=int, default=512)
    options = parser.parse_args()
    problem = Burgers()
    a_test, y_test = (f.to(options.device) for f in problem.dataset(2000, 128, seed=10_000))
    for m in options.features:
        errors, searched, trained = [], [], []
        for seed in range(options.seeds):
            a, y = (f.to(options.device) for f in problem.dataset(options.samples, 128, seed=seed))
            begun = time.perf_counter()
            model = RandomFeatureModel(FourierFeatures(), m, random_state=seed).tune(a, y)
            if options.device == "cuda":
                torch.cuda.synchronize()
            spent = time.perf_counter() - begun
            errors.append(-model.score(a_test, y_test))
            searched.append(model.history_.seconds)
            trained.append(spent - model.history_.seconds)
        print(
            f"n={options.samples} m={m}: mean error {np.mean(errors):.5f}, worst {max(errors):.5f} of {options.seeds} seeds; "
            f"search {np.mean(searched):.1f} s, ridge and training {np.mean(trained):.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
