import math

import pytest
import torch
from torch import nn

from raffia import RaffiaError, RandomFeatureModel
from raffia.features import BranchTrunk, NeuralFeatures, SpectralNetwork
from raffia.tuning import GradientSearch


class Pointwise(nn.Module):
    """A module that knows nothing of raffia."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(1, 5), nn.Linear(5, 1)

    def forward(self, a):
        return self.outer(torch.tanh(self.inner(a[..., None])))[..., 0]


def test_a_feature_is_the_module_with_the_drawn_weights(burgers):
    features = NeuralFeatures(Pointwise(), weight=2.0, bias=0.5)
    theta = features.draw(3, seed=0)
    W1, b1, W2, b2 = theta[1].split([5, 5, 5, 1])
    a = burgers.a[:2]
    hidden = torch.tanh(2.0 * a[..., None] * W1 + 0.5 * b1)  # fan-in 1
    wanted = hidden @ (2.0 / math.sqrt(5) * W2) + 0.5 * b2
    torch.testing.assert_close(features(a, theta)[:, 1], wanted)


def test_spectral_convolution_is_linear_and_sees_the_wavenumbers_it_has(burgers):
    features = NeuralFeatures(SpectralNetwork(width=2, n_modes=3, layers=1, activation="identity"), bias=1e-12)
    theta = features.draw(2, seed=0)
    x = torch.arange(32, dtype=torch.float64) / 32
    low, high = torch.cos(2 * math.pi * 2 * x)[None], torch.cos(2 * math.pi * 9 * x)[None]
    for a, seen in ((low, True), (high, False)):
        phi = features(a, theta)[0]
        along = phi @ a[0] / 16  # what stays in phase comes from mixing too; what turns comes from the convolution alone
        turned = phi - along[:, None] * a[0]
        assert (float(turned.abs().max()) > 1e-6) == seen


@pytest.mark.slow
@pytest.mark.parametrize("network", [SpectralNetwork(width=4, n_modes=6), BranchTrunk(n_modes=16)], ids=["fno", "deeponet"])
def test_random_networks_learn_and_tuning_their_weights_helps(burgers, network):
    train, test = slice(0, 30), slice(30, 40)
    model = RandomFeatureModel(NeuralFeatures(network, weight=0.2), n_features=80, ridge=1e-6)
    before = -model.fit(burgers.a[train], burgers.y[train]).score(burgers.a[test], burgers.y[test])
    model.tune(burgers.a[train], burgers.y[train], GradientSearch(steps=15))
    after = -model.score(burgers.a[test], burgers.y[test])
    assert after < before < 1.1


def test_a_model_with_a_bare_module_predicts_but_cannot_be_saved(burgers, tmp_path):
    model = RandomFeatureModel(NeuralFeatures(Pointwise()), n_features=20, ridge=1e-6).fit(burgers.a, burgers.y)
    assert model.predict(burgers.a).shape == burgers.a.shape
    with pytest.raises(RaffiaError, match=r"torch module.*Network"):
        model.save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []
