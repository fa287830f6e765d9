"""
How many samples do I need?
===========================

After this page you can draw a learning curve and read off how many samples an accuracy will cost.
"""

import matplotlib.pyplot as plt

import raffia
from raffia.problems import Burgers
from raffia.theory import rate

problem = Burgers(viscosity=0.01, time=1.0, fine_points=256)
pool, test = problem.dataset(320, points=64, seed=0), problem.dataset(100, points=64, seed=1)

sizes = [40, 80, 160, 320]
errors = []
for n in sizes:
    model = raffia.fit(pool.part(range(n)), effort="quick").model
    errors.append(-model.score(test.a, test.y))

plt.loglog(sizes, errors, "o-")
plt.xlabel("training samples")
plt.ylabel("mean relative error")

# %%
# The slope of the curve in the picture is the rate of convergence. Twice as many samples multiply the error by about
# 2 to the power of this rate:

print([f"{error:.4f}" for error in errors])
print(rate(sizes, [[error] for error in errors]))
