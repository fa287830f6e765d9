"""
How large is the error of this prediction?
==========================================

After this page you can draw error bars and bands, and detect inputs that are unlike the training data.
"""

import matplotlib.pyplot as plt
import torch

import raffia
from raffia.problems import Burgers

problem = Burgers(viscosity=0.01, time=1.0, fine_points=256)
train, test = problem.dataset(150, points=64, seed=0), problem.dataset(100, points=64, seed=1)
surrogate = raffia.fit(train, effort="quick")
model = surrogate.model

mean, std = model.predict(test.a, return_std=True)
x = torch.arange(64) / 64
plt.fill_between(x, mean[0] - 20 * std[0], mean[0] + 20 * std[0], alpha=0.3, label="20 standard deviations")
plt.plot(x, test.y[0], "k", label="truth")
plt.plot(x, mean[0], "--", label="prediction")
plt.legend()

# %%
# Error bars are standard deviations of the error. 90 % of the values should lie within 1.645 of them:

covered = ((mean - test.y).abs() <= 1.645 * std).double().mean()
print(f"covered: {covered:.2f}")

# %%
# A band is for whole functions: those of the same distribution should lie inside at every point, nine in ten of them. With 150 pairs
# the band comes from cross-validation, and this is not guaranteed. With ``raffia.fit(train, refit=False)`` it is, see
# *What do the errors and error bars mean?*

band = model.band(0.9)
print(f"whole functions inside the band: {band.covers(test.a, test.y).double().mean():.2f}")

# %%
# Neither holds for inputs unlike the training data. ``novelty`` flags them.

novelty = model.novelty(torch.cat([test.a[:3], 3 * test.a[:3]]))
print(novelty)
