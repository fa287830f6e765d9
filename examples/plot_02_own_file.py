"""
How do I get from my own file to a report?
==========================================

After this page you can turn a file of simulation results into a model, its expected error and a report.

The file here is made by two lines of NumPy. In its place use a file of your own:
NumPy, MATLAB, HDF5, NetCDF, Zarr, PyTorch, VTK, a table, or a folder.
"""

import numpy as np

import raffia
from raffia import plotting

rng = np.random.default_rng(0)
x = np.linspace(0, 1, 65)
load = rng.normal(size=(120, 5)) @ np.sin(np.pi * np.outer(np.arange(1, 6), x))
deflection = np.cumsum(np.cumsum(load, axis=1), axis=1) / 64**2
np.savez("beam.npz", load=load, deflection=deflection, x=x)

data = raffia.read("beam.npz", input="load", output="deflection")
surrogate = raffia.fit(data, effort="quick")
plotting.prediction(data.a[0], data.y[0], surrogate.model.predict(data.a[:1])[0], data.domain)

# %%
# In a shell the same is::
#
#     raffia inspect beam.npz      # what the file holds, and how raffia reads it
#     raffia fit beam.npz --input load --output deflection   # writes beam.safetensors and the report beam.html
#     raffia predict beam.safetensors new.npz --output predicted.npy
#
# The errors are those of cross-validation or of a held-out set.
# Compare them with those of simpler methods, to see what the features gain.

print(f"this model: {surrogate.errors.mean():.2e}")
for name, error in surrogate.baselines.items():
    print(f"{name}: {error:.2e}")

# %%
# A model is one file. It contains no code.

surrogate.model.save("beam.safetensors")
model = raffia.load("beam.safetensors")
print(model.predict(load[:3]).shape)
