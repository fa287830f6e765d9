import pytest
import torch
from sklearn.base import clone

from raffia import Domain, FourierFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, load
from raffia.features import Union
from raffia.tuning import GradientSearch

PAIR = Union((FourierFeatures(n_modes=8), FourierFeatures(n_modes=4, activation="tanh")), shares=(0.25, 0.75))


def test_every_feature_is_one_of_the_maps_features(burgers):
    theta = PAIR.draw(400, seed=0)
    phi = PAIR(burgers.a[:2], theta)
    first, second = (m(burgers.a[:2], theta[:, 1 : 1 + m.theta_shape[0]]) for m in PAIR.maps)
    of_first = (phi == first).all(-1).all(0)
    assert torch.all(of_first | (phi == second).all(-1).all(0))
    assert float(of_first.double().mean()) == pytest.approx(0.25, abs=0.07)


def test_scales_multiply_the_features_of_each_map(burgers):
    theta = PAIR.draw(20, seed=0)
    scaled = clone(PAIR).set_params(scales=torch.tensor([2.0, 3.0], dtype=torch.float64))
    ratio = (scaled(burgers.a[:1], theta) / PAIR(burgers.a[:1], theta))[0, :, 0]
    assert {round(float(r), 6) for r in ratio} == {2.0, 3.0}


@pytest.mark.slow
def test_parameters_of_the_maps_have_paths_and_can_be_searched(burgers, tmp_path):
    model = RandomFeatureModel(clone(PAIR), n_features=40)
    model.set_params(feature_map__map1__tau=9.0)
    assert model.feature_map.maps[1].tau == 9.0
    model.tune(burgers.a, burgers.y, GradientSearch(steps=8, contest_steps=1, screened=1, swept=1))
    found = model.history_.best.parameters
    assert model.feature_map.maps[0].tau == found["feature_map__map0__tau"]
    assert model.feature_map.scales.shape == (2,)
    model.save(tmp_path / "union.safetensors")
    assert torch.equal(load(tmp_path / "union.safetensors").predict(burgers.a), model.predict(burgers.a))


@pytest.mark.slow
def test_the_maps_given_are_not_changed_by_tuning(burgers):
    maps = (FourierFeatures(n_modes=8), FourierFeatures(n_modes=4))
    RandomFeatureModel(Union(maps), n_features=20).tune(
        burgers.a, burgers.y, GradientSearch(steps=2, contest_steps=1, screened=1, swept=1)
    )
    assert maps[0].tau == FourierFeatures().tau


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        ((), "must be a tuple of feature maps"),
        ((FourierFeatures(), FourierFeatures(domain=Domain(1, extent=2.0))), "maps of one domain"),
        ((FourierFeatures(), ScalarFeatures()), "maps of one kind"),
    ],
)
def test_maps_that_do_not_go_together_are_refused(burgers, maps, words):
    with pytest.raises(RaffiaError, match=words):
        RandomFeatureModel(Union(maps), n_features=20).fit(burgers.a, burgers.y)


def test_shares_and_scales_count_the_maps(burgers):
    with pytest.raises(RaffiaError, match="one number for each of the 2 maps; got 3"):
        RandomFeatureModel(Union(PAIR.maps, shares=(1.0, 1.0, 1.0)), n_features=20).fit(burgers.a, burgers.y)
