"""PCA-Net (Bhattacharya et al. 2021): a network of four layers of 256 between principal components."""

import itertools

import torch

from peers._components import Components
from peers._training import trained


def fit(a, y, task, seconds, seed):
    """Return the prediction function of the trained network."""
    ins, outs = Components(a, 1e-6, 128), Components(y, 1e-8, 128)
    basis = torch.as_tensor(outs.basis * outs.scale[:, None], dtype=torch.float32)
    mean = torch.as_tensor(outs.mean, dtype=torch.float32)

    def build():
        sizes = [len(ins.basis), 256, 256, 256, len(basis)]
        layers = []
        for before, after in itertools.pairwise(sizes):
            layers += [torch.nn.Linear(before, after), torch.nn.GELU()]
        return torch.nn.Sequential(*layers[:-1])

    class Decoded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = build()

        def forward(self, c):
            return (self.network(c) @ basis + mean).reshape(len(c), *y.shape[1:])

    predict = _plain(Decoded, ins.encode(a), y, seconds, seed)
    return lambda b: predict(ins.encode(b))


def _plain(build, c, y, seconds, seed):
    """Train without the normalisation of functions: coefficients are normalised."""
    centre = torch.as_tensor(y.mean(0), dtype=torch.float32)
    spread = max(float(y.std()), 1e-12)

    class Undone(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = build()

        def forward(self, b):
            return (self.inner(b) - centre) / spread

    return trained(Undone, c, y, seconds, seed)
