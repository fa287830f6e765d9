import torch

from raffia import Domain, FourierFeatures, GaussianField, RandomFeatureModel
from raffia.features import empirical_kernel


def test_random_features_are_kernel_ridge_regression():  # res:minimizer_equiv
    features, grid = FourierFeatures(n_modes=8), Domain(1).grid(12)
    a, test = GaussianField(n_modes=8).sample(5, grid, seed=0), GaussianField(n_modes=8).sample(3, grid, seed=1)
    y = torch.cos(3 * a)
    ridge, m = 1e-3, 20
    model = RandomFeatureModel(features, m, ridge=ridge).fit(a, y)
    theta = features.draw(m, seed=0)
    train = empirical_kernel(features, theta, a, a).reshape(60, 60)
    beta = torch.linalg.solve(train + ridge * torch.eye(60, dtype=torch.float64), grid.embed(y).reshape(-1))
    wanted = (empirical_kernel(features, theta, test, a).reshape(36, 60) @ beta).reshape(3, 12)
    torch.testing.assert_close(grid.embed(model.predict(test)), wanted, rtol=1e-8, atol=1e-10)


def test_kernel_is_symmetric_and_positive_semidefinite():  # def:kernel_operatorvalued
    features, grid = FourierFeatures(n_modes=8), Domain(1).grid(10)
    a, b = GaussianField(n_modes=8).sample(4, grid, seed=0), GaussianField(n_modes=8).sample(3, grid, seed=1)
    theta = features.draw(6, seed=0)
    kernel = empirical_kernel(features, theta, a, b)
    torch.testing.assert_close(kernel, empirical_kernel(features, theta, b, a).permute(2, 3, 0, 1))
    gram = empirical_kernel(features, theta, a, a).reshape(40, 40)
    assert torch.linalg.eigvalsh(gram).min() > -1e-12 * gram.abs().max()


def test_kernel_acts_on_functions_as_the_sum_of_outer_products():  # eqn:kernel_empirical
    features, grid = FourierFeatures(n_modes=8), Domain(1).grid(10)
    a, b, h = GaussianField(n_modes=8).sample(3, grid, seed=0).split(1)
    theta = features.draw(6, seed=0)
    wanted = sum(f * grid.inner(g, h[0]) for f, g in zip(features(a, theta)[0], features(b, theta)[0], strict=True)) / 6
    torch.testing.assert_close(empirical_kernel(features, theta, a, b)[0, :, 0] @ grid.embed(h[0]), grid.embed(wanted))
