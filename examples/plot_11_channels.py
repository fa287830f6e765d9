"""
How do I use several fields and parameters at once?
===================================================

After this page you can learn maps whose inputs and outputs have several channels, with scalar parameters among the inputs.
"""

import matplotlib.pyplot as plt
import torch

import raffia
from raffia import Channels, Dataset, Domain
from raffia.measures import GaussianField

circle = Domain(1)
u = GaussianField(circle, n_modes=6).sample(160, circle.grid(64), seed=0)
speed = 0.5 + torch.rand(160, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
k = torch.arange(33)
shifted = torch.fft.irfft(torch.fft.rfft(u) * torch.exp(-2j * torch.pi * k * 0.1 * speed), n=64)

inputs = torch.stack([u, speed.expand_as(u)], 1)  # (160, 2, 64): a parameter is a constant channel
outputs = torch.stack([shifted, shifted**2], 1)  # (160, 2, 64)
data = Dataset(inputs[:120], outputs[:120], Channels(circle, 2))
model = raffia.fit(data, effort="quick").model
prediction = model.predict(inputs[120:])

fig, axes = plt.subplots(1, 2, figsize=(8, 3))
for i, axis in enumerate(axes):
    axis.plot(outputs[120, i], "k", label="truth")
    axis.plot(prediction[0, i], "--", label="prediction")
    axis.set_title(f"output channel {i}")
axes[0].legend()

# %%

error = (prediction - outputs[120:]).flatten(1).norm(dim=1) / outputs[120:].flatten(1).norm(dim=1)
print(f"mean relative error: {error.mean():.4f}")
