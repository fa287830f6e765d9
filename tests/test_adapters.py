"""Operators inside other packages: what these compute is what the operator says. Those that are not installed are skipped."""

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad, minimize
from scipy.sparse.linalg import svds

from raffia import GaussianField, RaffiaError
from raffia.adapters import botorch_mean, botorch_model, cuqi_model, jacobian, pytensor_op
from raffia.adapters.needed import needed
from tests.derivatives.cases import CIRCLE, MAPS, trained

ABSENT = "{} is not installed: pip install 'raffia[adapters]'"
PRIOR = GaussianField(CIRCLE, "periodic", 3.0, 2.0, 6)


@pytest.fixture(scope="module")
def operator():
    return trained(MAPS["fourier 0"], 12, normalize=True).at(11, PRIOR)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def there(name, package):
    return pytest.importorskip(name, reason=ABSENT.format(package))


def test_scipy_has_the_derivative_as_a_linear_operator(operator):
    x = normal(operator.input_size)
    J = jacobian(operator, x)
    dense = torch.func.jacrev(operator)(torch.from_numpy(x)).numpy()
    assert np.allclose(J @ np.eye(operator.input_size), dense, atol=1e-12)
    assert np.allclose(J.H @ np.eye(operator.output_size), dense.T, atol=1e-12)
    assert np.allclose(J @ normal(6), dense @ normal(6), atol=1e-12)
    assert np.allclose(J.T @ normal(11), dense.T @ normal(11), atol=1e-12)
    largest = svds(J, 2, return_singular_vectors=False)
    assert np.allclose(np.sort(largest)[::-1], np.linalg.svd(dense)[1][:2])


def test_scipy_minimises_a_misfit_by_its_gradient(operator):
    data = operator(normal(operator.input_size, seed=4))

    def misfit(x):
        return 0.5 * np.sum((operator(x) - data) ** 2) + 1e-8 * x @ x

    def slope(x):
        return operator.vjp(x, operator(x) - data) + 2e-8 * x

    start = normal(operator.input_size, seed=5)
    assert check_grad(misfit, slope, start) < 1e-5
    found = minimize(misfit, start, jac=slope, method="L-BFGS-B")
    assert found.fun < 1e-3 * misfit(start)


def test_cuqipy_has_a_model_whose_posterior_has_a_gradient(operator):
    cuqi = there("cuqi", "CUQIpy")
    model = cuqi_model(operator)
    x, s = normal(operator.input_size), normal(operator.output_size, seed=1)
    assert np.allclose(model(x), operator(x))
    assert np.allclose(model.gradient(s, x), operator.vjp(x, s))
    prior = cuqi.distribution.Gaussian(np.zeros(operator.input_size), 1.0, name="x")
    data = cuqi.distribution.Gaussian(mean=model(prior), cov=0.01, name="y")
    posterior = cuqi.distribution.JointDistribution(prior, data)(y=operator(x))
    assert (
        check_grad(lambda z: float(np.squeeze(posterior.logpdf(z))), lambda z: np.asarray(posterior.gradient(z)), 0 * x) < 1e-3
    )


def test_pymc_has_a_likelihood_with_a_gradient(operator):
    pymc = there("pymc", "PyMC")
    data = operator(normal(operator.input_size, seed=4))
    with pymc.Model() as model:
        xi = pymc.Normal("xi", shape=operator.input_size)
        pymc.Normal("y", pytensor_op(operator)(xi), 0.1, observed=data)
    with there("pytensor", "PyMC").config.change_flags(mode="FAST_COMPILE"):
        logp, slope = model.compile_logp(), model.compile_dlogp()
    x = normal(operator.input_size)
    exact = -0.5 * np.sum(((operator(x) - data) / 0.1) ** 2) - 0.5 * x @ x
    zero = -0.5 * np.sum(((operator(0 * x) - data) / 0.1) ** 2)
    assert np.isclose(logp({"xi": x}) - logp({"xi": 0 * x}), exact - zero)
    assert np.allclose(slope({"xi": x}), operator.vjp(x, (data - operator(x)) / 0.01) - x)


def test_botorch_has_predictions_and_error_bars_with_gradients(operator):
    there("botorch", "BoTorch")
    from botorch.acquisition import UpperConfidenceBound
    from botorch.acquisition.objective import ScalarizedPosteriorTransform

    x = torch.from_numpy(normal(4, 1, operator.input_size))
    mean, model = botorch_mean(operator), botorch_model(operator)
    for one in (mean, model):
        assert torch.allclose(one.posterior(x).mean, operator(x[:, 0])[:, None])
    assert torch.allclose(model.posterior(x).variance, operator.deviation(x[:, 0])[:, None] ** 2)
    total = ScalarizedPosteriorTransform(torch.ones(operator.output_size, dtype=torch.float64))
    for acquired in (
        lambda x: mean.posterior(x).mean.sum((1, 2)),
        UpperConfidenceBound(model, 2.0, posterior_transform=total),
    ):
        start = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(acquired(start).sum(), start)
        step = 1e-5 * torch.from_numpy(normal(*x.shape, seed=1))
        assert torch.allclose(acquired(x + step) - acquired(x - step), 2 * (slope * step).sum((1, 2)), atol=1e-8)


def test_a_package_that_is_not_there_is_named_with_what_to_install():
    with pytest.raises(RaffiaError, match=r"needs Nothing, which does not import .*pip install 'raffia\[adapters\]'"):
        needed("nothing_of_this_name", "Nothing")
