import pytest
import torch

from raffia import Domain, GaussianField, RaffiaError
from raffia.measures import LevelSet

GRID = Domain(2, periodic=False).grid(33)


def test_values_are_two_and_split_by_the_sign_of_the_field():  # eqn:prior_levelset
    measure = LevelSet(low=2.0, high=5.0, tau=4.0, regularity=2.5, n_modes=200)
    a = measure.sample(4, GRID, seed=1)
    g = GaussianField(GRID.domain, "neumann", 4.0, 2.5, 200).sample(4, GRID, seed=1)
    assert torch.equal(a, torch.where(g > 0, 5.0, 2.0).double())


def test_both_values_are_equally_likely():
    a = LevelSet(n_modes=400).sample(400, GRID, seed=0)
    share = (a == 12).double().mean((1, 2))
    assert abs(float(share.mean()) - 0.5) < 4 * float(share.std()) / 20


def test_a_coarse_grid_sees_the_same_coefficient():
    measure = LevelSet(n_modes=400)  # |k| < 32: both grids hold all modes
    fine = measure.sample(3, Domain(2, periodic=False).grid(129), seed=0)
    coarse = measure.sample(3, Domain(2, periodic=False).grid(65), seed=0)
    assert torch.equal(fine[:, ::2, ::2], coarse)


def test_impossible_values_are_refused():
    with pytest.raises(RaffiaError, match="0 < low <= high"):
        LevelSet(low=-1.0).sample(1, GRID, seed=0)


def test_values_are_those_asked_for_to_the_last_digit():
    a = LevelSet(low=0.1, high=0.3, n_modes=50).sample(2, GRID, seed=0)
    assert set(a.unique().tolist()) == {0.1, 0.3}
