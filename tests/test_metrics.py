import math

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError, metrics
from raffia.metrics.spectrum import spectrum


def test_relative_error_is_the_mean_of_ratios_and_bochner_the_ratio_of_sums():  # eqn:test_error
    y = np.array([[3.0, 4.0], [6.0, 8.0]])
    prediction = np.array([[3.0, 3.0], [6.0, 8.0]])
    assert metrics.relative_error(y, prediction) == pytest.approx((1 / 5 + 0) / 2)
    assert metrics.bochner_error(y, prediction) == pytest.approx(math.sqrt(1 / 125))


def test_tensors_and_arrays_give_the_same_float():
    y, p = torch.randn(2, 5, 8, dtype=torch.float64)
    error = metrics.relative_error(y, p)
    assert isinstance(error, float)
    assert error == metrics.relative_error(y.numpy(), p.numpy())


def test_on_a_box_the_ends_count_half():
    grid = Domain(1, periodic=False).grid(3)
    y, p = np.array([[1.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 1.0]])
    assert metrics.relative_error(y, p, grid) == pytest.approx(0.5)
    assert metrics.relative_error(y, p) == pytest.approx(math.sqrt(1 / 3))


def test_refuses_zero_outputs_and_shapes_that_do_not_match():
    with pytest.raises(RaffiaError, match=r"y\[1\] is zero"):
        metrics.relative_error(np.array([[1.0], [0.0]]), np.ones((2, 1)))
    with pytest.raises(RaffiaError, match="one shape"):
        metrics.relative_error(np.ones((2, 3)), np.ones((2, 4)))


@pytest.mark.parametrize(
    ("domain", "shape"),
    [
        (Domain(1), (17,)),
        (Domain(1, periodic=False), (12,)),
        (Domain(2, axes=("periodic", "cells"), extent=(2.0, 1.0)), (8, 9)),
        (Domain(3), (4, 5, 6)),
    ],
)
def test_a_spectrum_adds_up_to_the_mean_square(domain, shape):  # Parseval
    f = torch.randn(3, *shape, dtype=torch.float64)
    torch.testing.assert_close(spectrum(f, domain).sum(1), f.square().flatten(1).mean(1))


def test_a_wave_is_in_its_number():
    x = torch.arange(32, dtype=torch.float64) / 32
    found = spectrum((torch.sin(2 * math.pi * 3 * x)[:, None] * torch.ones(16)).expand(2, 32, 16), Domain(2))
    torch.testing.assert_close(found[0], torch.where(torch.arange(found.shape[1]) == 3, 0.5, 0.0).double())
    half = torch.cos(math.pi * 2 * (torch.arange(32, dtype=torch.float64) + 0.5) / 32)  # one wave between two ends
    assert int(spectrum(half[None], Domain(1, axes="cells")).argmax()) == 1
