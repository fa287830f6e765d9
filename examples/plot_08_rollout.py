"""
How do I predict a whole trajectory?
====================================

After this page you can learn one time step from trajectories and roll it out for many steps.
"""

import matplotlib.pyplot as plt

import raffia
from raffia.problems import KortewegDeVries

problem = KortewegDeVries()
train = problem.trajectories(12, points=64, steps=20, dt=0.02, seed=0)  # (12, 21, 64)
test = problem.trajectories(4, points=64, steps=60, dt=0.02, seed=1)

data = raffia.Dataset.of_trajectories(train, problem.domain)
surrogate = raffia.fit(data, "local", n_features=128, effort="quick")
path = surrogate.model.rollout(test[:, 0], steps=60)

fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for axis, values, title in zip(axes, (test[0], path[0], path[0] - test[0]), ("truth", "rollout", "difference")):
    fig.colorbar(axis.imshow(values, origin="lower", aspect="auto", extent=(0, 1, 0, 60)), ax=axis)
    axis.set_title(title)
    axis.set_xlabel("x")
axes[0].set_ylabel("step")
fig.tight_layout()

# %%
# The training trajectories had 20 steps. The error grows slowly beyond them:

errors = (path - test).norm(dim=-1) / test.norm(dim=-1)
for step in (1, 10, 20, 60):
    print(f"step {step:2}: {errors[:, step].mean():.1e}")
