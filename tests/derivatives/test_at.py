"""The operator of flat vectors: sizes, batches, derivatives, whitened coordinates, and what it refuses."""

import numpy as np
import pytest
import torch

from raffia import GaussianField, RaffiaError
from raffia.measures import LevelSet, Pushforward
from tests.derivatives.cases import CIRCLE, LINE, MAPS, MESH, SQUARE, pairs, trained

PRIORS = {
    CIRCLE: GaussianField(CIRCLE, "periodic", 3.0, 2.0, 6),
    SQUARE: GaussianField(SQUARE, "neumann", 3.0, 2.0, 6),
    MESH: GaussianField(SQUARE, "neumann", 3.0, 2.0, 6),
}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def positive(space):
    return Pushforward(PRIORS[space], torch.exp)


OPERATORS = {
    "circle": lambda: trained(MAPS["fourier 0"], normalize=True).at(),
    "circle, finer": lambda: trained(MAPS["fourier 0"]).at(13),
    "circle, whitened": lambda: trained(MAPS["fourier 0"]).at(11, prior=PRIORS[CIRCLE]),
    "square, lognormal": lambda: trained(MAPS["multiplicative"]).at((7, 6), prior=positive(SQUARE)),
    "mesh, whitened": lambda: trained(MAPS["fourier 6"], normalize="function").at(prior=PRIORS[MESH]),
    "channels": lambda: trained(MAPS["fourier 7"], normalize="function").at(12),
    "vectors": lambda: trained(MAPS["scalar vectors"]).at(),
    "numbers": lambda: trained(MAPS["bridge"]).at(),
    "numbers of functions, interpolated": lambda: trained(MAPS["scalar 1"]).at(11),
    "carried": lambda: trained(MAPS["carried 2"], coefficients="modal").at(),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_products_with_derivatives_are_differences_and_adjoint_to_each_other(name):
    operator = OPERATORS[name]()
    x, v, w = (normal(operator.input_size, seed=seed) for seed in range(3))
    x = x if "whitened" in name or "lognormal" in name else 1 + 0.1 * x
    s, h = normal(operator.output_size, seed=3), 1e-5
    assert operator(x).shape == s.shape
    tangent, gradient, curved = operator.jvp(x, v), operator.vjp(x, s), operator.hvp(x, s, v)
    assert np.allclose(tangent, (operator(x + h * v) - operator(x - h * v)) / (2 * h), atol=1e-7, rtol=1e-6)
    assert np.allclose(curved, (operator.vjp(x + h * v, s) - operator.vjp(x - h * v, s)) / (2 * h), atol=1e-6, rtol=1e-5)
    assert abs(tangent @ s - gradient @ v) <= 1e-10 * np.linalg.norm(tangent) * np.linalg.norm(s)
    assert np.isclose(curved @ w, operator.hvp(x, s, w) @ v, rtol=1e-9, atol=1e-11)


def test_rows_of_a_batch_are_vectors_each_by_itself():
    operator = OPERATORS["square, lognormal"]()
    x, v, s = normal(5, operator.input_size), normal(5, operator.input_size, seed=1), normal(5, operator.output_size, seed=2)
    for call, arguments in ((operator, (x,)), (operator.jvp, (x, v)), (operator.vjp, (x, s)), (operator.hvp, (x, s, v))):
        one_by_one = [call(*(given[i] for given in arguments)) for i in range(5)]
        assert np.allclose(call(*arguments), np.stack(one_by_one), rtol=1e-10, atol=1e-12)


def test_a_long_batch_goes_through_little_memory_in_parts():
    model = trained(MAPS["fourier 0"], memory_budget=2**16)
    a = pairs(CIRCLE, 40)[0]
    one = trained(MAPS["fourier 0"]).at()
    s = torch.ones_like(a)
    assert torch.allclose(model.at().vjp(a, s), one.vjp(a, s), rtol=1e-12, atol=1e-14)


def test_vectors_are_the_values_of_functions_that_predict_takes():
    for model in (trained(MAPS["fourier 8"]), trained(MAPS["scalar 7"], normalize=True), trained(MAPS["fourier 6"])):
        a = pairs(model.feature_map.domain, 3, seed=5)[0]
        operator = model.at()
        assert torch.equal(operator(a.flatten(1)), model.predict(a).flatten(1))
        assert torch.equal(operator.function(a.flatten(1)), a)


def test_whitened_coordinates_are_those_of_the_karhunen_loeve_expansion():
    prior, grid = GaussianField(CIRCLE, "periodic", 3.0, 2.0, 20), CIRCLE.grid(9)
    model = trained(MAPS["fourier 0"])
    operator = model.at(grid, prior)
    assert operator.input_size == 8  # sines and cosines up to wavenumber 4
    xi = torch.from_numpy(normal(3, 8))
    field = prior(torch.nn.functional.pad(xi, (0, 12)), grid)
    assert torch.allclose(operator.function(xi), field, atol=1e-14)
    assert torch.allclose(operator(xi), model.predict(field), atol=1e-12)


def test_draws_of_white_numbers_have_the_covariance_of_the_prior():
    operator = trained(MAPS["fourier 0"]).at(9, PRIORS[CIRCLE])
    draws = operator.function(torch.from_numpy(normal(20000, operator.input_size)))
    assert torch.allclose(draws.T.cov(), PRIORS[CIRCLE].sample(20000, CIRCLE.grid(9), seed=0).T.cov(), atol=0.02)


def test_tensors_stay_tensors_through_which_derivatives_are_followed():
    operator = OPERATORS["circle, whitened"]()
    x = torch.from_numpy(normal(2, operator.input_size)).requires_grad_()
    s = torch.from_numpy(normal(2, operator.output_size, seed=1)).requires_grad_()
    v = torch.from_numpy(normal(2, operator.input_size, seed=2)).requires_grad_()
    assert torch.autograd.gradcheck(operator, x, fast_mode=True)
    assert torch.autograd.gradcheck(operator.vjp, (x, s), fast_mode=True, atol=1e-4)
    assert torch.autograd.gradcheck(operator.jvp, (x, v), fast_mode=True, atol=1e-4)
    assert torch.autograd.gradcheck(operator.hvp, (x, s, v), fast_mode=True, atol=1e-4)


def test_torch_func_takes_an_operator_apart():
    operator = OPERATORS["circle"]()
    x = pairs(CIRCLE, 1)[0][0]
    forwards, backwards = torch.func.jacfwd(operator)(x), torch.func.jacrev(operator)(x)
    assert torch.allclose(forwards, backwards, atol=1e-12)
    eye = torch.eye(operator.output_size, dtype=torch.float64)
    assert torch.allclose(operator.vjp(x.expand(len(eye), -1), eye), backwards, atol=1e-12)
    curved = torch.func.hessian(lambda x: operator(x).square().sum())(x)
    assert torch.allclose(curved, curved.T, atol=1e-9)
    assert torch.allclose(
        curved, 2 * backwards.T @ backwards + 2 * torch.stack([operator.hvp(x, operator(x), e) for e in eye]), atol=1e-8
    )


def test_numpy_gives_numpy_and_tensors_give_tensors():
    operator = OPERATORS["vectors"]()
    x = normal(operator.input_size)
    assert isinstance(operator(x), np.ndarray)
    assert torch.equal(operator(torch.from_numpy(x)), torch.from_numpy(operator(x)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: trained(MAPS["fourier 0"]).at("fine"), "numbers of points; got 'fine'"),
        (lambda: trained(MAPS["fourier 0"]).at((8, 8)), "needs 1 axes"),
        (lambda: trained(MAPS["fourier 0"]).at(LINE.grid(8)), "model.on"),
        (lambda: trained(MAPS["fourier 6"]).at(9), "must be Nodes of"),
        (lambda: trained(MAPS["fourier 0"]).at(prior=PRIORS[SQUARE]), "the prior lives on"),
        (lambda: trained(MAPS["fourier 0"]).at(prior=torch.exp), "GaussianField"),
        (lambda: trained(MAPS["fourier 7"]).at(prior=PRIORS[CIRCLE]), "one function"),
        (lambda: trained(MAPS["additive"]).at(prior=LevelSet()), "pass a GaussianField"),
        (
            lambda: OPERATORS["circle"]()(normal(8)),
            r"x must be float64, of shape \(9,\) or \(n, 9\); got float64 of shape \(8,\)",
        ),
        (lambda: OPERATORS["circle"]()(torch.ones(9)), "got float32"),
        (lambda: OPERATORS["circle"]()([1.0] * 9), "x must be a NumPy array"),
        (lambda: OPERATORS["circle"]()(np.full(9, np.nan)), "x must be finite"),
        (lambda: OPERATORS["circle"]().vjp(normal(9), normal(2, 9)), "s of shape"),
        (lambda: OPERATORS["circle"]().jvp(normal(9), normal(7)), "v must be float64"),
    ],
)
def test_what_cannot_be_is_refused_with_words(make, words):
    with pytest.raises(RaffiaError, match=words):
        make()
