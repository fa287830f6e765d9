"""Does leave-one-function-out pick a good ridge? Burgers, m = 512, K = 128, 6 seeds, 500 tests.

    python benchmarks/ridge.py

For each n: test error of the chosen ridge relative to the best of 35 ridges (mean and worst over seeds), the same for
generalised cross-validation over all n·K numbers as if they were independent, and the predicted error over the true one.
"""

import numpy as np
import torch

from raffia import Burgers, FourierFeatures, RandomFeatureModel, metrics
from raffia.regression import RidgePath


def naive_gcv(path, rows, ridge):
    return float(rows * path.equations.residual(path.coef(ridge)) / (rows - float((path.s / (path.s + ridge)).sum())) ** 2)


def test_error(model, phi, y, coef):
    return metrics.relative_error(y, (coef @ phi).reshape(y.shape) / model.n_features)


def main():
    problem = Burgers()
    test = problem.dataset(500, 128, seed=1000)
    print("   n   left out: mean  worst   naive GCV: mean  worst   predicted/true: mean  worst")
    for n in (16, 64, 512):
        chosen, naive, told = [], [], []
        for seed in range(6):
            a, y = problem.dataset(n, 128, seed=seed)
            model = RandomFeatureModel(FourierFeatures(), 512, ridge="auto", random_state=seed).fit(a, y)
            path = RidgePath(model.equations_)
            theta = model.feature_map.draw(512, seed)
            phi = torch.cat([model.feature_map(part, theta) for part in test.a.split(50)]).transpose(0, 1).reshape(512, -1)
            ridges = [float(path.s[-1]) * 10.0**k for k in np.arange(-16, 1.1, 0.5)]
            errors = [test_error(model, phi, test.y, path.coef(ridge)) for ridge in ridges]
            mine = test_error(model, phi, test.y, model.coef_)
            best = min(*errors, mine)
            chosen.append(mine / best)
            naive.append(errors[int(np.argmin([naive_gcv(path, n * 128, ridge) for ridge in ridges]))] / best)
            told.append(model.loo_error_ / mine)
        worst = max(told, key=lambda x: abs(np.log(x)))
        row = (np.mean(chosen), max(chosen), np.mean(naive), max(naive), np.mean(told), worst)
        print(
            f"{n:4}        {row[0]:9.3f} {row[1]:6.3f}        {row[2]:9.3f} {row[3]:6.3f}             {row[4]:9.3f} {row[5]:6.3f}"
        )


if __name__ == "__main__":
    main()
