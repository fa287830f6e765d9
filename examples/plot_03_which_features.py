"""
Which features should I use?
============================

After this page you can compare families of features on your data, and know which one suits which problem.

A feature is a random operator. Each family describes another kind of map:

* ``LocalFeatures``: the output at a point depends on the input and its derivatives nearby (one time step, reactions).
* ``FourierFeatures``: smooth global dependence (the solution after a long time).
* ``ScalarFeatures``: parameters or few coefficients as inputs, and closed-form kernels.
* ``IteratedFeatures``, ``GalerkinFeatures``: solutions of equations whose coefficients are the input (elliptic problems).
* ``CarriedFeatures``: transport by a velocity.
"""

import matplotlib.pyplot as plt

import raffia
from raffia import RandomFeatureModel
from raffia.features import FourierFeatures, LocalFeatures, ScalarFeatures
from raffia.problems import Burgers

problem = Burgers(viscosity=0.01, time=0.3, fine_points=256)
train, test = problem.dataset(150, points=64, seed=0), problem.dataset(100, points=64, seed=1)

families = {
    "local": LocalFeatures(),
    "Fourier (paper)": FourierFeatures(),
    "Fourier (Matérn, GELU)": FourierFeatures(profile="matern", activation="gelu", amplitude=2.0, bias=0.5, tau=10.0),
    "scalar": ScalarFeatures(n_modes=17),
}
errors = {}
for name, features in families.items():
    model = RandomFeatureModel(features, n_features=256, ridge="auto", normalize=True).fit(train.a, train.y)
    errors[name] = -model.score(test.a, test.y)

plt.barh(list(errors), list(errors.values()))
plt.xscale("log")
plt.xlabel("mean relative error on 100 test functions")
plt.tight_layout()

# %%
# ``raffia.fit`` does this comparison for you, with a search for the hyperparameters of each family.

surrogate = raffia.fit(train, effort="quick")
for entry in surrogate.contest.entries:
    print(f"{entry.candidate.name:30} {entry.error:.4f}")
