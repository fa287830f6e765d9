"""
How do I use a neural network as features?
==========================================

After this page you can use a network with random weights as features, alone or together with others.
"""

import matplotlib.pyplot as plt

from raffia import RandomFeatureModel
from raffia.features import FourierFeatures, NeuralFeatures, SpectralNetwork, Union
from raffia.problems import Burgers

problem = Burgers(fine_points=256)
train, test = problem.dataset(150, points=64, seed=0), problem.dataset(100, points=64, seed=1)

network = NeuralFeatures(SpectralNetwork(width=4, n_modes=8))
fourier = FourierFeatures(n_modes=40)
maps = {"network": network, "Fourier": fourier, "both": Union((fourier, network), shares=(0.8, 0.2))}
errors = {}
for name, features in maps.items():
    model = RandomFeatureModel(features, n_features=256, ridge="auto").fit(train.a, train.y)
    errors[name] = -model.score(test.a, test.y)
plt.bar(list(errors), list(errors.values()))
plt.ylabel("mean relative error")

# %%
# Any ``torch.nn.Module`` that maps functions to functions will do. Its weights are drawn at random and never trained.

print({name: round(error, 4) for name, error in errors.items()})
