"""
How do I find the input from noisy observations?
================================================

After this page you can compute the most probable input and its posterior with a surrogate in place of the solver.
"""

import torch

from raffia import RandomFeatureModel, plotting
from raffia.features import FourierFeatures
from raffia.inverse import InverseProblem, Prior, laplace, maximum_a_posteriori, pcn, point_values, surrogate_error
from raffia.problems import Burgers

problem = Burgers(fine_points=256)
pairs = problem.dataset(356, points=64, seed=0)
features = FourierFeatures(profile="matern", activation="gelu", amplitude=2.0, bias=0.5, tau=10.0)
model = RandomFeatureModel(features, 128, "auto", coefficients="modal", normalize=True).fit(pairs.a[:256], pairs.y[:256])

grid = problem.domain.grid(64)
truth = problem.dataset(1, points=64, seed=2)
x = torch.arange(20) / 20
observe = point_values(grid, x)  # the solution at 20 points
clean = observe @ truth.y[0]
noise = 0.01 * clean.square().mean().sqrt()
observed = clean + noise * torch.randn(20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

prior = Prior(problem.input_measure, grid)
error = surrogate_error(model.predict, pairs.a[256:], pairs.y[256:], observe)
inverse = InverseProblem(model.predict, prior, observed, noise, observe, error)
best = maximum_a_posteriori(inverse)
gaussian = laplace(inverse, best.xi)
chains = pcn(inverse, steps=150, chains=64, burn_in=50, reference=gaussian)
plotting.posterior(chains.mean(prior), chains.std(prior), truth.a[0], positions=x)

# %%
# The error of the surrogate on held-out pairs is part of the likelihood, so that the posterior is not too narrow.

print(f"acceptance {chains.acceptance:.2f}")
