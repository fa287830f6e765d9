import math

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError, metrics


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
