import pytest
import torch

from raffia.features.base import Range
from raffia.tuning import SearchSpace

SPACE = SearchSpace({"tau": Range(0.1, 10.0), "share": Range(0.0, 1.0, log=False), "profile": Range(1e-3, 1e3, count=3)})
VALUES = {"tau": 2.0, "share": 0.25, "profile": torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)}


def test_values_become_one_vector_and_come_back():
    u = SPACE.line(VALUES)
    assert u.shape == (SPACE.size,) == (5,)
    back = SPACE.numbers(u)
    assert back["tau"] == pytest.approx(2.0)
    assert back["share"] == pytest.approx(0.25)
    assert torch.allclose(back["profile"], VALUES["profile"])


def test_logarithmic_ranges_are_searched_in_logarithms():
    assert SPACE.line(VALUES)[0] == pytest.approx(torch.log(torch.tensor(2.0)).item())
    assert SPACE.line(VALUES)[1] == 0.25
    assert torch.all(SPACE.low < SPACE.line(VALUES))
    assert torch.all(SPACE.line(VALUES) < SPACE.high)


def test_values_are_differentiable():
    u = SPACE.line(VALUES).requires_grad_()
    values = SPACE.values(u)
    (values["tau"] + values["profile"].sum()).backward()
    assert torch.allclose(u.grad, torch.tensor([2.0, 0.0, 0.1, 1.0, 10.0], dtype=torch.float64))


def test_what_is_outside_moves_to_the_middle():
    assert SPACE.inside("tau", 100.0) == pytest.approx(1.0)
    assert SPACE.inside("tau", 3.0) == 3.0
    assert SPACE.inside("profile", torch.tensor([1e-9, 2.0, 2.0])).tolist() == pytest.approx([1.0, 2.0, 2.0])
