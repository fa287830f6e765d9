"""
What do I gain if the features know the PDE?
============================================

After this page you can compare a model that knows nothing of the equation with features that contain it.

Darcy flow, −∇·(a∇u) = 1: the input is the permeability a of a two-phase medium, the output the pressure u.
"""

import raffia
from raffia import RandomFeatureModel, plotting
from raffia.features import PredictorCorrectorFeatures
from raffia.problems import Darcy

problem = Darcy(fine_points=65)
train, test = problem.dataset(100, points=33, seed=0), problem.dataset(50, points=33, seed=1)

features = PredictorCorrectorFeatures(steps=3, randomisation="multiplicative", eta=1e-5)
physics = RandomFeatureModel(features, n_features=200, ridge=1e-10).fit(train.a, train.y)
plotting.prediction(test.a[0], test.y[0], physics.predict(test.a[:1])[0], problem.domain)

# %%
# A kernel method that does not know the equation, from the same 100 pairs:

generic = raffia.fit(train, "kernel").model
print(f"without the PDE: {-generic.score(test.a, test.y):.3f}")
print(f"with the PDE:    {-physics.score(test.a, test.y):.3f}")
