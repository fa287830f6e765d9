"""Principal components of functions, which several peers work on."""

import numpy as np


class Components:
    """The principal components of samples that hold all but `rest` of the variance; coefficients have variance one."""

    def __init__(self, f, rest, most=256):
        self.shape = f.shape[1:]
        flat = f.reshape(len(f), -1).astype(float)
        self.mean = flat.mean(0)
        _, s, v = np.linalg.svd(flat - self.mean, full_matrices=False)
        share = np.cumsum(s**2) / max((s**2).sum(), 1e-300)
        count = min(int(np.searchsorted(share, 1 - rest)) + 1, most, max(1, len(f) - 1))
        self.basis, self.scale = v[:count], np.maximum(s[:count] / np.sqrt(len(f)), 1e-30)

    def encode(self, f):
        """Return the coefficients of samples."""
        return (f.reshape(len(f), -1) - self.mean) @ self.basis.T / self.scale

    def decode(self, c):
        """Return the samples with these coefficients."""
        return ((c * self.scale) @ self.basis + self.mean).reshape(len(c), *self.shape)
