"""
How do I make predictions conserve mass?
========================================

After this page you can build a conservation law into a model, so that every prediction obeys it to rounding.
"""

import matplotlib.pyplot as plt

from raffia import RandomFeatureModel
from raffia.constraints import Conserved
from raffia.features import FourierFeatures
from raffia.problems import Burgers

problem = Burgers(fine_points=256)
train, test = problem.dataset(100, points=64, seed=0), problem.dataset(50, points=256, seed=1)
shifted = test.a + 0.5  # means that the training never saw

drift = {}
for name, constraints in (("without", []), ("Conserved()", [Conserved()])):
    model = RandomFeatureModel(FourierFeatures(), 200, ridge=1e-6, constraints=constraints).fit(train.a, train.y)
    drift[name] = (model.predict(shifted).mean(1) - shifted.mean(1)).abs()

plt.boxplot(list(drift.values()), tick_labels=list(drift))
plt.yscale("log")
plt.ylabel("|∫ F(a) − ∫ a|")

# %%
# ``model.solution_.guarantees`` describes what holds, and where:

print(model.solution_.guarantees)
