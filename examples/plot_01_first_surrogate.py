"""
How do I train my first surrogate?
==================================

After this page you can train a surrogate of a PDE from samples and predict on a grid that it never saw.

The problem is Burgers' equation on a circle, ∂u/∂t + u ∂u/∂x = ν ∂²u/∂x².
The map to learn takes the initial condition u(·, 0) to the solution u(·, 1).
"""

import raffia
from raffia import metrics, plotting
from raffia.problems import Burgers

problem = Burgers(viscosity=0.01, time=1.0)
train = problem.dataset(200, points=64, seed=0)  # train.a and train.y have the shape (200, 64)
surrogate = raffia.fit(train, effort="quick")

# %%
# The test functions live on a grid with four times as many points.

test = problem.dataset(100, points=256, seed=1)
prediction = surrogate.model.predict(test.a)
error = metrics.relative_error(test.y, prediction)
print(f"mean relative error on a grid that the training never saw: {error:.4f}")

# %%
# One input, the true solution and the prediction:

plotting.prediction(test.a[0], test.y[0], prediction[0])

# %%
# ``raffia.fit`` compared several families of features and kept the best.
# ``surrogate.errors`` holds the errors that it expects, estimated from the training data alone.

print(surrogate.contest.best.candidate.name)
print(f"expected error: {surrogate.errors.mean():.4f}")
