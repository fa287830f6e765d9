"""
How do I predict further into the future than I trained?
========================================================

After this page you can compose a model of one time step with itself, as the flow of an autonomous equation allows.

If Ψ_T is the solution operator for the time T, then Ψ_T ∘ Ψ_T = Ψ_2T. A model of Ψ_T can be applied again and again.
"""

import matplotlib.pyplot as plt
import torch

import raffia
from raffia.problems import Burgers

half = Burgers(viscosity=0.01, time=0.5, fine_points=256)
surrogate = raffia.fit(half.dataset(200, points=64, seed=0), effort="quick")

once, twice = Burgers(viscosity=0.01, time=0.5, fine_points=256), Burgers(viscosity=0.01, time=1.0, fine_points=256)
a = once.dataset(50, points=64, seed=1).a
truth = twice.dataset(50, points=64, seed=1).y
prediction = surrogate.model.compose(a, 2)

x = torch.arange(64) / 64
plt.plot(x, a[0], ":", label="time 0")
plt.plot(x, truth[0], "k", label="time 1, truth")
plt.plot(x, prediction[0], "--", label="time 1, model of 0.5 composed twice")
plt.legend()

# %%

error = ((prediction - truth).norm(dim=1) / truth.norm(dim=1)).mean()
print(f"mean relative error after two steps: {error:.4f}")
