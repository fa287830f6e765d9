"""
How do I add my own coarse solver?
==================================

After this page you can use a cheap, inaccurate solver of your own as a random feature.

A feature map has two parts: the shape of its random numbers θ, and the operator φ(a; θ). Here φ takes four crude time steps of
Burgers' equation, with the viscosity and the time multiplied by random factors. The least-squares fit corrects what is crude.
"""

import math
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
import torch

from raffia import Domain, FeatureMap, RandomFeatureModel
from raffia.features import FourierFeatures
from raffia.problems import Burgers


@dataclass(repr=False, eq=False)
class CoarseBurgers(FeatureMap):
    """φ(a; θ): four steps from a + spread · θ*a, with random viscosity and time."""

    viscosity: float = 0.01
    time: float = 1.0
    spread: float = 0.5
    domain: Domain = field(default_factory=lambda: Domain(1))

    @property
    def theta_shape(self):
        """Two random factors, and 17 random coefficients that perturb the input."""
        return (2 + 17,)

    def __call__(self, a, theta):
        """Return the features, (n, m, points), of inputs a, (n, points), for random numbers theta, (m, 19)."""
        perturb = FourierFeatures(16, activation="identity", profile="matern", amplitude=1.0, tau=15.0, regularity=3.0)
        k = 2 * math.pi * torch.arange(a.shape[-1] // 2 + 1, dtype=a.dtype, device=a.device)
        viscosity = self.viscosity * torch.exp(self.spread * theta[:, :1])
        step = self.time / 4 * torch.exp(self.spread * theta[:, 1:2])
        u = a[:, None] + self.spread * perturb(a, theta[:, 2:])
        for _ in range(4):
            u = torch.fft.irfft(torch.exp(-viscosity * step * k**2) * torch.fft.rfft(u), n=a.shape[-1])
            slope = torch.fft.irfft(1j * k * torch.fft.rfft(u), n=a.shape[-1])
            u = u - step * u * slope / (1 + step * slope.abs())
        return u


a, y = Burgers(fine_points=256).dataset(120, points=64, seed=0)
solver = CoarseBurgers()
alone = solver(a[100:], torch.zeros(1, 19).double())[:, 0]
model = RandomFeatureModel(solver, n_features=256, ridge=1e-7).fit(a[:100], y[:100])
prediction = model.predict(a[100:])

plt.plot(y[100], "k", label="truth")
plt.plot(alone[0], ":", label="coarse solver alone")
plt.plot(prediction[0], "--", label="combination of 256 coarse solvers")
plt.legend()

# %%

for name, values in (("coarse solver alone", alone), ("combination", prediction)):
    error = ((values - y[100:]).norm(dim=1) / y[100:].norm(dim=1)).mean()
    print(f"{name}: {error:.3f}")
