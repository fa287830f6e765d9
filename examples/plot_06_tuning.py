"""
How do I tune the features to my data?
======================================

After this page you can search the hyperparameters of a feature map by gradients through the least-squares solve.
"""

from raffia import RandomFeatureModel, plotting
from raffia.features import FourierFeatures
from raffia.problems import Burgers
from raffia.tuning import GradientSearch

problem = Burgers(fine_points=256)
train, test = problem.dataset(150, points=64, seed=0), problem.dataset(100, points=64, seed=1)

model = RandomFeatureModel(FourierFeatures(), n_features=256, ridge="auto").fit(train.a, train.y)
print(f"before the search: {-model.score(test.a, test.y):.4f}")

model.tune(train.a, train.y, GradientSearch(steps=30))
print(f"after the search:  {-model.score(test.a, test.y):.4f}")
plotting.search(model.history_)

# %%
# The best parameters, as ``set_params`` takes them:

print(model.history_.best.parameters)
