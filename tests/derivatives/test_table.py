"""The table of models forgets no feature map: derivatives, exports and compiled operators are checked for its rows."""

import inspect

from raffia import FeatureMap, features
from tests.derivatives.cases import MAPS, MODELS, classes_in


def test_every_map_and_every_network_of_raffia_has_a_row():
    public = {
        kind
        for kind in vars(features).values()
        if inspect.isclass(kind) and issubclass(kind, (FeatureMap, features.Network)) and not inspect.isabstract(kind)
    }
    assert len(public) > 12
    assert public <= set().union(*map(classes_in, MAPS.values()))


def test_every_row_is_there_with_each_normalisation_it_takes():
    for name in MAPS:
        assert f"{name}, normalize=False" in MODELS
