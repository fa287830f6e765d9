"""A ridge for every block is found where its error is least."""

import pytest
import torch

from raffia import RaffiaError
from raffia.regression.modal_ridge import search_ridges

BEST = torch.tensor([-11.0, -9.3, -8.0, -6.5, -4.0, -3.1], dtype=torch.float64)
SCALES = torch.tensor([1.0, 10.0, 1e-3, 1.0, 5.0, 2.0], dtype=torch.float64)


def _parabolas(ridges, which):
    best, scales = (BEST, SCALES) if which is None else (BEST[which], SCALES[which])
    power = (ridges / scales).log10()
    wrong = torch.where(torch.isinf(power), 1e9, (0.2 * (power - best) ** 2).exp())
    return torch.stack([2 * wrong, wrong], dim=1)[:, None]


def test_the_vertex_of_a_parabola_is_found_in_every_block():
    variant, ridges, _ = search_ridges(SCALES, torch.ones(6, dtype=torch.float64), _parabolas)
    assert variant == 1
    torch.testing.assert_close((ridges / SCALES).log10(), BEST, rtol=0.02, atol=0.0)


def test_blocks_with_nothing_to_learn_have_an_infinite_ridge():
    def squares(ridges, which):
        return (1 + 1 / ridges)[:, None, None]

    _, ridges, error = search_ridges(SCALES, torch.ones(6, dtype=torch.float64), squares)
    assert torch.isinf(ridges).all()
    assert error == pytest.approx(6**0.5)


def test_no_finite_error_is_refused():
    with pytest.raises(RaffiaError, match="no ridge has a finite error"):
        search_ridges(SCALES, SCALES, lambda ridges, which: torch.full((len(ridges), 1, 2), torch.nan, dtype=torch.float64))


@pytest.mark.parametrize(("share", "wanted"), [(0.49, 0), (0.05, 1)])
def test_modes_that_hold_rounding_alone_are_left_alone_unless_that_costs_much(share, wanted):
    """The last of three modes is rounding, of which nothing can be explained, and an ordinary part fills it with errors of its own."""
    there = torch.tensor([1.0, 2.0, 1e-16], dtype=torch.float64)

    def squares(ridges, which):
        rows = torch.arange(3) if which is None else which
        apart = torch.where(torch.isinf(ridges), 1.0, torch.tensor([0.5, 0.5, 0.99], dtype=torch.float64)[rows])
        drawn = torch.tensor([share, share, 1e3], dtype=torch.float64)[rows]
        return (there[rows, None] * torch.stack([apart, drawn], 1))[:, None, :]

    variant, ridges, _ = search_ridges(torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64), squares)
    assert variant == wanted
    if variant == 0:
        assert torch.isinf(ridges).tolist() == [False, False, True]
