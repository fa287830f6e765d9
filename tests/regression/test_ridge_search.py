"""A ridge for every block is found where its error is least."""

import pytest
import torch

from raffia import RaffiaError
from raffia.regression.ridge_search import search_ridges

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
