import math

import pytest
import torch

from raffia import Domain, RaffiaError

DOMAINS = [
    Domain(1),
    Domain(2),
    Domain(1, periodic=False),
    Domain(2, periodic=False),
    Domain(2, periodic=False, extent=(2.0, 0.5)),
    Domain(2, axes=("periodic", "box"), extent=(2.0, 0.5)),
    Domain(2, axes=("box", "periodic")),
    Domain(1, axes="cells", extent=3.0),
    Domain(2, axes="cells"),
    Domain(2, axes="left"),
    Domain(1, axes="right"),
    Domain(3, axes=("periodic", "cells", "box"), extent=(1.0, 2.0, 3.0)),
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_weights_sum_to_the_volume_of_the_domain(domain):
    assert domain.grid(9).weights().sum().item() == pytest.approx(math.prod(domain.extents))


@pytest.mark.parametrize("domain", DOMAINS)
def test_inner_product_is_the_dot_product_of_embeddings(domain):
    grid = domain.grid(6)
    f, g = torch.randn(2, 3, *grid.shape, dtype=torch.float64)
    weighted = (f * g * grid.weights()).flatten(1).sum(-1)
    torch.testing.assert_close(grid.inner(f, g), weighted)
    torch.testing.assert_close(grid.norm(f).square(), grid.inner(f, f))
    torch.testing.assert_close(grid.unembed(grid.embed(f)), f)


def test_periodic_grid_leaves_the_right_end_out_and_a_box_has_both():
    assert Domain(1).grid(4).axes()[0].tolist() == [0, 0.25, 0.5, 0.75]
    assert Domain(1, periodic=False).grid(5).axes()[0].tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_trapezoid_rule_is_second_order_on_a_box_and_spectral_on_a_torus():
    def error(domain, f, exact, points):
        grid = domain.grid(points)
        return abs(float((f(grid.axes()[0]) * grid.weights()).sum()) - exact)

    box = Domain(1, periodic=False)
    assert math.log2(error(box, torch.exp, math.e - 1, 17) / error(box, torch.exp, math.e - 1, 33)) == pytest.approx(
        2, abs=0.02
    )
    exact = float(torch.special.i0(torch.tensor(1.0, dtype=torch.float64)))
    assert error(Domain(1), lambda x: torch.exp(torch.cos(2 * torch.pi * x)), exact, 16) < 1e-14


def test_cells_have_centres_and_an_end_may_be_left_out():
    coordinates = {kind: Domain(1, axes=kind).grid(4).axes()[0].tolist() for kind in ("cells", "left", "right")}
    assert coordinates == {
        "cells": [0.125, 0.375, 0.625, 0.875], "left": [0, 0.25, 0.5, 0.75], "right": [0.25, 0.5, 0.75, 1],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["cells", "left", "right"])
def test_every_kind_of_axis_is_integrated_to_second_order(kind):
    def error(points):
        grid = Domain(1, axes=kind).grid(points)
        return abs(float((grid.axes()[0].exp() * grid.weights()).sum()) - (math.e - 1))

    assert math.log2(error(64) / error(128)) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_finer_grid_has_all_nodes_of_a_coarser_one(domain):
    grid = domain.grid(5)
    finer, shared = grid.refined()
    for x, fine, where in zip(grid.axes(), finer.axes(), shared, strict=True):
        torch.testing.assert_close(fine[where], x)


def test_domains_that_are_periodic_in_all_axes_or_in_none_are_those_that_have_always_been():
    assert Domain(2, axes=("periodic", "periodic")) == Domain(2)
    assert Domain(2, axes="box", extent=2.0) == Domain(2, periodic=False, extent=2.0)
    assert repr(Domain(2, axes="periodic")) == "Domain(dim=2, periodic=True, extent=1.0)"
    assert not Domain(2, axes="periodic,box").periodic


def test_grid_is_read_off_the_trailing_axes():
    assert Domain(2).grid_of(torch.zeros(5, 3, 8, 9)).shape == (8, 9)
    assert Domain(0).grid_of(torch.zeros(5)).shape == ()


def test_a_number_is_a_function_on_a_point():
    grid = Domain(0).grid()
    assert grid.embed(torch.tensor([1.0, 2.0])).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Domain(-1), "dim >= 0"),
        (lambda: Domain(2, extent=(1.0,)), "one length, or 2"),
        (lambda: Domain(1, extent=0.0), "positive lengths"),
        (lambda: Domain(1, periodic=False).grid(1), "2 point"),
        (lambda: Domain(2).grid(3, 4, 5), "2 axes"),
        (lambda: Domain(2, axes=("periodic", "circle")), "periodic, box, cells, left, right .* got 'circle'"),
        (lambda: Domain(2, axes=("periodic", "box", "box")), "each of 2 axes"),
        (lambda: Domain(2, axes=("cells", "box")).grid(1, 1), "2 point"),
        (lambda: Domain(2, axes=("cells", "box")).boundaries("periodic"), "does not go with a domain with axes cells, box"),
        (lambda: Domain(2).grid_of(torch.zeros(3)), "at least that many axes"),
    ],
)
def test_impossible_domains_and_grids_are_refused(make, words):
    with pytest.raises(RaffiaError, match=words):
        make()
