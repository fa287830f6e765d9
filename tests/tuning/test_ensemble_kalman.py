import pytest
import torch

from raffia.measures import white_noise
from raffia.tuning.ensemble_kalman import _filled, _Metric, _transform


def noise(*shape):
    return white_noise(shape[0], shape[1:], 0, "test")


def test_one_unit_of_time_is_the_kalman_update_of_a_linear_map():
    """Mean and covariance of the ensemble become those of the Gaussian posterior with the ensemble's own statistics."""
    J, d, M = 40, 3, 5
    ensemble, A = noise(J, d), noise(M, d)
    G = A @ ensemble.mT
    prior = torch.full((d,), 1e12, dtype=torch.float64)  # so wide that it says nothing
    metric = _Metric(torch.linspace(20, 40, M, dtype=torch.float64), 0.3 * noise(M, 2), prior)
    gamma = torch.diag(metric.D) + metric.Z @ metric.Z.mT
    data = A @ torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)  # well fitted, so that the adaptive step is longer than 1
    moved, step = _transform(ensemble, G, data, torch.zeros(d, dtype=torch.float64), metric, time_left=1.0)
    assert step == 1.0
    C = torch.cov(ensemble.mT)
    gain = C @ A.mT @ torch.linalg.inv(A @ C @ A.mT + gamma)
    mean = ensemble.mean(0)
    assert torch.allclose(moved.mean(0), mean + gain @ (data - A @ mean), atol=1e-10)
    assert torch.allclose(torch.cov(moved.mT), C - gain @ A @ C, atol=1e-10)


def test_the_prior_pulls_the_ensemble_to_its_mean():
    ensemble = 5 + noise(30, 2)
    G = torch.zeros(4, 30, dtype=torch.float64)  # the data say nothing
    metric = _Metric(torch.ones(4).double(), torch.zeros(4, 1).double(), torch.full((2,), 1e-4, dtype=torch.float64))
    moved, _ = _transform(ensemble, G, torch.full((4,), 1e-3).double(), torch.zeros(2).double(), metric, time_left=1.0)
    assert moved.mean(0).norm() < 0.01 * ensemble.mean(0).norm()


def test_the_metric_is_inverted_by_woodbury():
    metric = _Metric(torch.rand(6).double() + 0.5, noise(6, 3), torch.ones(1).double())
    dense = torch.diag(metric.D) + metric.Z @ metric.Z.mT
    Y = noise(6, 4)
    assert torch.allclose(metric.inverse(Y), torch.linalg.solve(dense, Y), rtol=1e-9)


def test_members_that_failed_stand_at_the_mean_of_the_others():
    found = _filled([torch.tensor([1.0, 2.0]), None, torch.tensor([3.0, 4.0])])
    assert found[:, 1].tolist() == pytest.approx([2.0, 3.0])
