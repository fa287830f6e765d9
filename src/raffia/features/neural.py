"""Neural networks with random weights as random features (sec:rfm_nn): train the last layer, draw the others."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor, nn
from torch.func import functional_call, vmap

from raffia.errors import RaffiaError
from raffia.features.activations import ACTIVATIONS
from raffia.features.base import Choice, FeatureMap, Range
from raffia.spaces import POINT, Domain, LaplacianBasis, Nodes
from raffia.transforms import outside_transforms

Number = float | Float[Tensor, ""]


class Network(BaseEstimator, ABC):
    """An architecture for `NeuralFeatures`: its sizes, and how to build a torch module from them.

    Subclasses are dataclasses with a method `build`. Models with a bare torch module can be trained, but not saved.

    Examples
    --------
    >>> from raffia import Domain
    >>> from raffia.features import SpectralNetwork
    >>> type(SpectralNetwork(width=4).build(Domain(1))).__bases__[0].__name__
    'Module'
    """

    @abstractmethod
    def build(self, domain: Domain) -> nn.Module:
        """Build a module from (n, *grid) to (n, *grid) or (n,). Its weights are replaced by random ones."""


@dataclass(repr=False, eq=False)
class NeuralFeatures(FeatureMap):
    """A neural network with random weights, of which only the last, linear layer is trained.

    φ(a; θ) = network(a) with random weights: matrices N(0, weight²/fan-in), vectors N(0, bias²).

    Parameters
    ----------
    network
        A `Network`, or any torch module that maps (n, *grid) to (n, *grid) on every grid.
    weight, bias
        The standard deviations of the weights.
    domain
        The domain of the inputs.

    Examples
    --------
    >>> from raffia.features import BranchTrunk, NeuralFeatures
    >>> features = NeuralFeatures(BranchTrunk(width=16, rank=8, n_modes=16))
    """

    network: Network | nn.Module
    weight: Number = 1.5
    bias: Number = 0.5
    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def theta_shape(self) -> tuple[int]:
        """One entry for each weight."""
        return (sum(parameter.numel() for parameter in self._module().parameters()),)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The standard deviations of the weights."""
        return {"weight": Range(0.05, 20.0), "bias": Range(1e-3, 10.0)}

    def values_on(self, grid: Nodes) -> Nodes:
        """The nodes of the values, found by evaluating one network."""
        one = self(torch.ones(1, *grid.shape, dtype=torch.float64), self.draw(1, seed=0))
        return POINT if one.ndim == 2 else grid.one_channel

    def __call__(self, a: Float[Tensor, "n *grid"], theta: Float[Tensor, "m weights"]) -> Float[Tensor, "n m *grid_or_none"]:
        """Evaluate the networks of all features at once."""
        with outside_transforms():
            module = self._module().to(theta)
        drawn, start = {}, 0
        for name, parameter in module.named_parameters():
            part = theta[:, start : start + parameter.numel()].reshape(len(theta), *parameter.shape)
            start += parameter.numel()
            drawn[name] = self.bias * part if parameter.ndim < 2 else self.weight / math.sqrt(parameter[0].numel()) * part
        return vmap(lambda weights: functional_call(module, weights, (a,)))(drawn).transpose(0, 1)

    def _module(self) -> nn.Module:
        if not isinstance(self.network, Network):
            return self.network
        with torch.random.fork_rng(devices=[]):  # building draws weights from the global generator, which must not change
            return self.network.build(self.domain)


MOST_WEIGHTS, LAYER = 2**24, 2**14
"""The most weights of one network, and the weights that a layer counts for at least, since building many layers takes long."""


def check_sizes(network: Network, weights: int, **sizes: int) -> None:
    """Refuse invalid sizes and networks with too many weights."""
    if min(sizes.values()) < 1 or weights > MOST_WEIGHTS:
        named = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise RaffiaError(f"{type(network).__name__} needs sizes of 1 or more and at most {MOST_WEIGHTS} weights; got {named}.")


@dataclass(repr=False, eq=False)
class BranchTrunk(Network):
    """A DeepONet for `NeuralFeatures`: Σ_p b_p(z) t_p(x), with coefficients z of the input and coordinates x. For any grid.

    Parameters
    ----------
    width
        The width of the hidden layers.
    rank
        The number of terms p.
    n_modes
        The number of coefficients z.
    activation
        The pointwise function.

    Examples
    --------
    >>> from raffia.features import BranchTrunk, NeuralFeatures
    >>> features = NeuralFeatures(BranchTrunk(width=16, rank=8, n_modes=16))
    """

    width: int = 32
    rank: int = 16
    n_modes: int = 32
    activation: str = "tanh"

    def build(self, domain: Domain) -> nn.Module:
        """Branch and trunk have two layers each."""
        check_sizes(self, self.width * (self.n_modes + 2 * self.rank), width=self.width, rank=self.rank, n_modes=self.n_modes)
        return _BranchTrunk(self, domain)


class _BranchTrunk(nn.Module):
    def __init__(self, sizes: BranchTrunk, domain: Domain) -> None:
        super().__init__()
        self.domain, self.sigma = domain, ACTIVATIONS[sizes.activation]
        self.basis = LaplacianBasis(domain, domain.natural_boundary, sizes.n_modes)
        self.around = [axis for axis, kind in enumerate(domain.kinds) if kind.periodic]
        self.straight = [axis for axis, kind in enumerate(domain.kinds) if not kind.periodic]
        coordinates = 2 * len(self.around) + len(self.straight)
        self.branch_in, self.branch_out = nn.Linear(sizes.n_modes, sizes.width), nn.Linear(sizes.width, sizes.rank)
        self.trunk_in, self.trunk_out = nn.Linear(coordinates, sizes.width), nn.Linear(sizes.width, sizes.rank)

    def forward(self, a: Tensor) -> Tensor:
        grid = self.domain.grid_of(a)
        z = self.basis.analysis(a, grid)
        x = grid.nodes().to(a) / torch.tensor(self.domain.extents, dtype=torch.float64).to(a)
        angle = 2 * math.pi * x[..., self.around]
        x = torch.cat([torch.sin(angle), torch.cos(angle), x[..., self.straight]], dim=-1)
        branch = self.branch_out(self.sigma(self.branch_in(z)))
        trunk = self.sigma(self.trunk_out(self.sigma(self.trunk_in(x))))
        return torch.einsum("np,...p->n...", branch, trunk) / math.sqrt(branch.shape[-1])


@dataclass(repr=False, eq=False)
class SpectralNetwork(Network):
    """A small Fourier neural operator on the circle, for `NeuralFeatures`: lift, random convolutions with pointwise mixing, project.

    Parameters
    ----------
    width
        The number of channels.
    n_modes
        The number of Fourier modes of a convolution.
    layers
        The number of convolutions.
    activation
        The pointwise function.

    Examples
    --------
    >>> from raffia.features import NeuralFeatures, SpectralNetwork
    >>> features = NeuralFeatures(SpectralNetwork(width=4, n_modes=8))
    """

    width: int = 8
    n_modes: int = 12
    layers: int = 2
    activation: str = "gelu"

    def build(self, domain: Domain) -> nn.Module:
        """Each convolution has wavenumbers up to n_modes."""
        weights = 2 * self.width**2 * self.n_modes * self.layers
        check_sizes(self, max(weights, self.layers * LAYER), width=self.width, n_modes=self.n_modes, layers=self.layers)
        return _Spectral(self)


class _Spectral(nn.Module):
    def __init__(self, sizes: SpectralNetwork) -> None:
        super().__init__()
        width = sizes.width
        self.sigma, self.n_modes = ACTIVATIONS[sizes.activation], sizes.n_modes
        self.lift, self.project = nn.Linear(1, width), nn.Linear(width, 1)
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(sizes.layers))
        self.modes = nn.ParameterList(torch.zeros(width, width, 2, sizes.n_modes) for _ in range(sizes.layers))

    def forward(self, a: Tensor) -> Tensor:
        v = self.lift(a[..., None])  # (n, K, width)
        for mix, weight in zip(self.mix, self.modes, strict=True):
            reach = min(self.n_modes, (a.shape[-1] - 1) // 2)
            spectrum = torch.fft.rfft(v, dim=1, norm="forward")[:, 1 : reach + 1]
            multiplier = torch.complex(weight[:, :, 0, :reach], weight[:, :, 1, :reach]) * math.sqrt(self.n_modes)
            waves = torch.einsum("nkw,uwk->nku", spectrum, multiplier)
            constant = torch.zeros_like(waves[:, :1])
            v = self.sigma(mix(v) + torch.fft.irfft(torch.cat([constant, waves], dim=1), n=a.shape[-1], dim=1, norm="forward"))
        return self.project(v)[..., 0]
