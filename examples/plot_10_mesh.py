"""
How do I use data on an unstructured mesh?
==========================================

After this page you can learn fields on scattered nodes, with or without the triangles.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Delaunay

import raffia
from raffia import Dataset, Mesh, Vectors

rng = np.random.default_rng(0)
nodes = rng.uniform(-1, 1, (600, 2))
nodes = nodes[np.hypot(*nodes.T) > 0.3]  # a square with a round hole
parameters = rng.uniform(-0.5, 0.5, (80, 2))  # where a source is
distance = np.linalg.norm(nodes[None] - parameters[:, None], axis=2)
field = np.exp(-4 * distance**2)

data = Dataset(parameters[:60], field[:60], Vectors(), output=Mesh(nodes))
model = raffia.fit(data, effort="quick").model
prediction = model.predict(parameters[60:])

triangles = Delaunay(nodes).simplices
fig, axes = plt.subplots(1, 2, figsize=(8, 3.5))
for axis, values, title in zip(axes, (field[60], prediction[0]), ("truth", "prediction")):
    fig.colorbar(axis.tripcolor(*nodes.T, triangles, values), ax=axis)
    axis.set_title(title)
    axis.set_aspect("equal")

# %%

error = np.linalg.norm(prediction - field[60:], axis=1) / np.linalg.norm(field[60:], axis=1)
print(f"mean relative error: {error.mean():.4f}")
