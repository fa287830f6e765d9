import math

import numpy as np
import torch

from raffia import RandomFeatureModel, metrics
from raffia.features import BrownianBridge, empirical_kernel
from raffia.problems import BridgeRegression
from raffia.tuning import GradientSearch


def test_kernel_is_the_green_function_of_the_interval_within_monte_carlo_error():  # eqn:bb_kernel
    features, m = BrownianBridge(n_modes=2000), 4000
    x = torch.linspace(0.05, 0.95, 10, dtype=torch.float64)
    kernel = empirical_kernel(features, features.draw(m, seed=0), x, x)[:, 0, :, 0]
    exact = torch.minimum(x[:, None], x) - x[:, None] * x
    spread = ((exact.diag()[:, None] * exact.diag() + exact**2) / m).sqrt()  # of a product of two jointly normal numbers
    assert ((kernel - exact).abs() / spread).max() < 4.5


def test_truncation_error_of_the_kernel_is_as_stated():
    n_modes = 50
    j = torch.arange(1, n_modes + 1, dtype=torch.float64)
    x = torch.linspace(0, 1, 201, dtype=torch.float64)
    truncated = (2 * torch.sin(math.pi * j * x[:, None]) ** 2 / (math.pi * j) ** 2).sum(-1)
    assert (x - x**2 - truncated).abs().max() <= 2 / (math.pi**2 * n_modes)


def test_model_tends_to_the_piecewise_linear_interpolant():  # fig:bb_compare
    a, y = BridgeRegression().dataset(16, seed=0)
    order = torch.argsort(a)
    nodes, values = (np.concatenate([[0], f[order], [end]]) for f, end in ((a, 1), (y, 0)))
    x = torch.linspace(0.01, 0.99, 200, dtype=torch.float64)
    limit = torch.from_numpy(np.interp(x, nodes, values))
    sizes, seeds = (64, 256, 1024), range(4)
    distance = [
        np.mean([metrics.bochner_error(limit[None], interpolant(a, y, x, m, seed)[None]) for seed in seeds]) for m in sizes
    ]
    rate = np.polyfit(np.log(sizes), np.log(distance), 1)[0]
    assert -0.7 < rate < -0.3  # Monte Carlo
    assert distance[-1] < 0.12


def interpolant(a, y, x, m, seed):
    return RandomFeatureModel(BrownianBridge(n_modes=400), m, random_state=seed).fit(a, y).predict(x)


def test_path_is_zero_at_both_ends_and_fixed_by_its_number():
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert BridgeRegression().solve(ends).abs().max() < 1e-12
    x = torch.linspace(0, 1, 11, dtype=torch.float64)
    assert torch.equal(BridgeRegression(path=1).solve(x), BridgeRegression(path=1).solve(x))
    assert not torch.equal(BridgeRegression(path=1).solve(x), BridgeRegression(path=2).solve(x))


def test_tuning_recovers_from_paths_far_too_smooth_or_too_rough():
    problem = BridgeRegression()
    (a, y), test = problem.dataset(32, seed=0), problem.dataset(300, seed=1)
    reached = []
    for smoothness in (4.0, 0.6):
        model = RandomFeatureModel(BrownianBridge(200, smoothness=smoothness), n_features=300)
        model.tune(a, y, GradientSearch(steps=60))
        reached.append(metrics.bochner_error(test.y, model.predict(test.a)))
    untuned = RandomFeatureModel(BrownianBridge(200), n_features=300, ridge=1e-10).fit(a, y)
    good = metrics.bochner_error(test.y, untuned.predict(test.a))
    assert max(reached) < 1.1 * good
