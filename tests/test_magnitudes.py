"""The size of values is a matter of units: errors are the same for all whose squares float64 holds, and others are refused."""

import pytest
import torch

import raffia
from raffia import Dataset, Domain, GaussianField, RaffiaError

CIRCLE = Domain(1)
A = GaussianField(CIRCLE, n_modes=8).sample(24, CIRCLE.grid(16), seed=0)


def error_of(a, y):
    return float(raffia.fit(Dataset(a, y, CIRCLE), effort="quick").errors.mean())


@pytest.fixture(scope="module")
def usual():
    """Of outputs that are another quantity than inputs: product features, which compare the two, take no part."""
    return error_of(A, 100 * torch.tanh(A))


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_errors_do_not_depend_on_the_units_of_values(usual, size):
    assert error_of(A, size * torch.tanh(A)) == pytest.approx(usual, rel=1e-3)
    assert error_of(size * A, torch.tanh(A)) == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_errors_do_not_depend_on_the_unit_that_inputs_and_outputs_share(size):
    assert error_of(size * A, size * torch.tanh(A)) == pytest.approx(error_of(A, torch.tanh(A)), rel=1e-3)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_values_whose_squares_are_no_numbers_are_refused_with_the_unit_to_use(size):
    for name, a, y in (("inputs", size * A, A), ("outputs", A, size * A)):
        with pytest.raises(RaffiaError, match=f"{name} have values .* in other units"):
            raffia.fit(Dataset(a, y, CIRCLE), effort="quick")


def test_outputs_that_are_all_zero_are_refused():
    with pytest.raises(RaffiaError, match="all zero"):
        raffia.fit(Dataset(A, torch.zeros_like(A), CIRCLE), effort="quick")
