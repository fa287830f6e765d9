"""Features with gains and shifts that are fields: they know where they are."""

import torch

from raffia import Channels, Domain, FourierFeatures, GaussianField, RandomFeatureModel
from raffia.features import PlacedFeatures
from raffia.tuning import GradientSearch

CIRCLE = Domain(1)
PLAIN = FourierFeatures(12, 10.0, 2.0, amplitude=2.0, activation="identity", profile="matern")


def pairs(n):
    """Outputs that depend on the place: inputs times a fixed wave."""
    grid = CIRCLE.grid(32)
    a = GaussianField(n_modes=6).sample(n, grid, seed=0)
    return a, (1 + torch.sin(2 * torch.pi * grid.nodes()[:, 0])) * a


def test_without_fields_they_are_the_pointwise_function_of_the_other_features():
    a, _ = pairs(3)
    placed = PlacedFeatures(PLAIN, gain=0.0, shift=0.0, n_modes=4, activation="tanh")
    theta = placed.draw(5, seed=0)
    torch.testing.assert_close(placed(a, theta), torch.tanh(PLAIN(a, theta[:, : PLAIN.theta_shape[0]])))


def test_what_depends_on_the_place_is_learnt_where_convolutions_cannot():
    a, y = pairs(120)
    found = [
        -RandomFeatureModel(features, 200, ridge="auto", normalize=True).fit(a[:90], y[:90]).score(a[90:], y[90:])
        for features in (
            FourierFeatures(12, 10.0, 2.0, amplitude=2.0, bias=0.5, activation="gelu", profile="matern"),
            PlacedFeatures(PLAIN),
        )
    ]
    assert found[1] < 0.5 * found[0]


def test_a_search_finds_parameters_of_both_maps():
    a, y = pairs(40)
    model = RandomFeatureModel(PlacedFeatures(PLAIN, n_modes=8), 24, ridge=1e-6, normalize=True)
    model.tune(a, y, GradientSearch(4, 0, 0, screened=0, swept=0))
    assert model.feature_map.gain != 1.0
    assert model.feature_map.feature_map.tau != 10.0


def test_channels_are_those_of_the_other_map():
    a, _ = pairs(3)
    both = Channels(CIRCLE, 2)
    inner = FourierFeatures(12, domain=both, activation="identity", profile="matern", amplitude=2.0)
    values = PlacedFeatures(inner, n_modes=4)(torch.stack([a, a], 1), PlacedFeatures(inner, n_modes=4).draw(5, seed=0))
    assert values.shape == (3, 5, 32)
