"""A DeepONet with a branch and a trunk of four layers of 128, and its POD variant (DeepXDE's networks)."""

import os

import numpy as np
import torch

from peers._components import Components
from peers._training import trained

os.environ.setdefault("DDE_BACKEND", "pytorch")


def fit(a, y, task, seconds, seed, pod=False):
    """Return the prediction function of the trained network; outputs with several channels have a network output each."""
    from deepxde.nn.pytorch import DeepONetCartesianProd, PODDeepONet

    n, values = a[0].size, y[0].size
    grid = np.stack(np.meshgrid(*(np.linspace(0, 1, s) for s in y.shape[1:]), indexing="ij"), -1).reshape(values, -1)
    points = torch.as_tensor(grid, dtype=torch.float32)
    basis = torch.as_tensor(Components(y, 1e-6, 64).basis.T * np.sqrt(values), dtype=torch.float32)

    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            branch = [n, 128, 128, 128, basis.shape[1] if pod else 128]
            trunk = [points.shape[1], 128, 128, 128, 128]
            self.network = (
                PODDeepONet(basis, branch, "relu", "Glorot normal")
                if pod
                else DeepONetCartesianProd(branch, trunk, "relu", "Glorot normal")
            )

        def forward(self, b):
            return self.network((b.flatten(1), points)).reshape(len(b), *y.shape[1:])

    return trained(Flat, a, y, seconds, seed)
