"""Inputs, outputs and features of the experiments: the authors' own draws where a seed gives them, and fresh ones."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor

from raffia import papers
from raffia.features import FeatureMap, FourierFeatures
from raffia.features.base import Prepared
from raffia.features.fourier import wavenumber_filter
from raffia.measures import GaussianField
from raffia.measures.gaussian import matern
from raffia.measures.noise import white_noise
from raffia.problems import Burgers
from raffia.spaces import LaplacianBasis, Nodes, Space

POOL, TEST_POOL, FINE = 1024, 5000, 1024
TIMES = (0.5, 1.0, 1.5, 2.0)
ONE = TIMES.index(1.0)


@dataclass(repr=False, eq=False)
class AliasedFeatures(FeatureMap):
    """Features on the circle as the authors evaluate them on a coarse grid: θ is subsampled, so modes that the grid cannot hold alias."""

    of: FourierFeatures

    @property
    def domain(self) -> Space:
        """That of the features."""
        return self.of.domain

    @property
    def theta_shape(self) -> tuple[int]:
        """That of the features."""
        return self.of.theta_shape

    def prepare(self, theta: Float[Tensor, "m modes"], grid: Nodes) -> Prepared:
        """The multipliers of all wavenumbers of the grid, each with those of the modes that look like it at its points."""
        of, xi, points = self.of, theta[:, 1:], grid.shape[0]
        k = torch.arange(1, of.n_modes // 2 + 1, device=xi.device)
        spread = (matern((2 * math.pi * k.to(xi)) ** 2, of.tau, of.regularity, 1) / 2).sqrt()
        coef = spread * torch.complex(xi[:, 1::2], -xi[:, 0::2])
        place, half = k % points, points // 2
        low = place <= half
        folded = torch.zeros(len(xi), half + 1, dtype=coef.dtype, device=xi.device)
        folded.index_add_(1, place[low], coef[:, low])
        folded.index_add_(1, points - place[~low], coef[:, ~low].conj())
        folded[:, half] = 2 * folded[:, half].real  # k and −k meet in the Nyquist mode
        chi = wavenumber_filter(2 * math.pi * of.delta * torch.arange(half + 1, device=xi.device).to(xi), of.beta)
        multiplier, shift = of.amplitude * chi * folded, of.bias * theta[:, :1]
        multiplier[:, :1] = shift
        return multiplier[:, None], shift

    def evaluate(self, a: Float[Tensor, "n points"], prepared: Prepared) -> Float[Tensor, "n m points"]:
        """As the features do."""
        return self.of.evaluate(a, prepared)


@dataclass(frozen=True)
class Draw:
    """Pairs for training and for testing on the finest grid, and the θ of the features."""

    a: Tensor
    y: Tensor
    test_a: Tensor
    test_y: Tensor
    theta: Tensor

    def on(self, points: int, time: int | None = None) -> "Draw":
        """On a coarser grid, whose nodes all grids share; of outputs at several times, those of one."""
        dim = self.a.ndim - 1
        stride = self.a.shape[-1] // points if dim == 1 else (self.a.shape[-1] - 1) // (points - 1)
        thin: Any = (..., *[slice(None, None, stride)] * dim)
        y, test_y = (f if time is None else f[:, time] for f in (self.y, self.test_y))
        a, y, test_a, test_y = (f[thin].contiguous() for f in (self.a, y, self.test_a, test_y))
        return Draw(a, y, test_a, test_y, self.theta)


def authors_burgers(n: int, n_test: int, device: str) -> tuple[FeatureMap, Draw]:
    """The authors' inputs, features and splits, from their legacy seed; outputs at T = 0.5, 1, 1.5, 2, by our solver."""
    legacy = np.random.RandomState(papers.AUTHORS_SEED)
    theta, train, test = (
        _white(legacy.standard_normal(shape)) for shape in ((FINE + 1, POOL, 2), (FINE + 1, POOL), (FINE + 1, TEST_POOL))
    )
    legacy = np.random.RandomState(papers.AUTHORS_SEED)
    features, rows, tests = (legacy.choice(pool, pool, replace=False) for pool in (POOL, POOL, TEST_POOL))
    whole = AliasedFeatures(clone(papers.BURGERS.feature_map).set_params(n_modes=theta.shape[1]))
    xi = torch.nn.functional.pad(theta[features], (1, 0))  # no shift
    law = papers.BURGERS.problem
    field = GaussianField(tau=law.tau, regularity=law.regularity, n_modes=train.shape[1])
    a, test_a = (field(white, field.domain.grid(FINE)) for white in (train[rows[:n]], test[tests[:n_test]]))
    return whole, _solved(a, test_a, xi, device)


def fresh_burgers(n: int, n_test: int, seed: int, device: str) -> tuple[FeatureMap, Draw]:
    """Draws of our own."""
    features, measure = papers.BURGERS.feature_map, Burgers().input_measure
    grid = measure.domain.grid(FINE)
    a, test = (measure.sample(rows, grid, seed) for rows in (range(n), range(POOL, POOL + n_test)))
    return features, _solved(a, test, features.draw(POOL, seed), device)


def darcy(n: int, n_test: int, seed: int, device: str) -> Draw:
    """Draws of our own on 257² points, by the law of the authors' code: modes that are constant along an axis have twice the variance."""
    problem, features = papers.DARCY.problem, papers.DARCY.feature_map
    grid, law = problem.domain.grid(257), problem.input_measure
    field = GaussianField(problem.domain, "neumann", law.tau, law.regularity, law.n_modes)
    parts: list[Tensor] = []
    for rows in (range(n), range(10_000, 10_000 + n_test)):
        inputs = []
        for i in range(rows.start, rows.stop, 64):
            xi = white_noise(range(i, min(i + 64, rows.stop)), (law.n_modes,), seed, stream="input") * _axis_factor(law.n_modes)
            inputs.append(torch.where(field(xi.to(device), grid) > 0, law.high, law.low).double())
        parts += [torch.cat(inputs), torch.cat([problem.solve(a) for a in inputs])]
    theta = features.draw(papers.DARCY.n_features, seed)
    a, y, test_a, test_y = parts
    return Draw(a, y, test_a, test_y, (theta * _axis_factor(theta.shape[-1])).to(device))


def _axis_factor(n_modes: int) -> Tensor:
    modes = LaplacianBasis(papers.DARCY.problem.domain, "neumann", n_modes, constant=False).modes
    return torch.where((modes == 0).any(-1), math.sqrt(2), 1.0).double()


def _white(z: np.ndarray) -> Tensor:
    """Rows of sine and cosine coefficients in our order, from the authors' columns of real and imaginary parts."""
    z = z[..., 0] if z.ndim == 3 else z
    real, imaginary = z[1 : FINE // 2].T, z[FINE // 2 + 1 : FINE].T
    return torch.from_numpy(np.stack([imaginary, real], axis=-1).reshape(len(real), -1))


def _solved(a: Tensor, test_a: Tensor, theta: Tensor, device: str) -> Draw:
    problem = papers.TIME_UPSCALE.problem
    a, test_a = a.to(device), test_a.to(device)
    return Draw(a, problem.solve(a), test_a, problem.solve(test_a), theta.to(device))
