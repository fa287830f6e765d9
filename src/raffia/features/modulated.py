"""Features that depend on position: those of another map, with random gains and shifts that are smooth fields."""

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.activations import activate
from raffia.features.base import Choice, FeatureMap, Prepared, Range
from raffia.features.fourier import FourierFeatures
from raffia.measures import GaussianField
from raffia.spaces import Nodes, Space

Number = float | Float[Tensor, ""]


def _convolutions() -> FourierFeatures:
    return FourierFeatures(64, 10.0, 2.0, amplitude=2.0, activation="identity", profile="matern")


@dataclass(repr=False, eq=False)
class PlacedFeatures(FeatureMap):
    """The features of another map, multiplied by random fields, so that they depend on the position.

    φ(a; θ) = σ( (1 + gain·R_θ) ψ(a; θ) + shift·S_θ ): ψ are the features of another map, R_θ and S_θ random smooth fields.

    Convolutions followed by pointwise functions treat all positions alike. These features do not, as a fixed source or a boundary requires.
    ψ should be linear, with activation="identity".

    Good values: gain and shift near 1, then `tune`.

    Parameters
    ----------
    feature_map
        ψ.
    gain, shift
        The sizes of the random fields R and S.
    field_tau, field_regularity, n_modes
        The inverse length scale, the regularity and the number of modes of the fields, see `GaussianField`.
    activation
        σ.

    Examples
    --------
    >>> from raffia.features import FourierFeatures, PlacedFeatures
    >>> features = PlacedFeatures(FourierFeatures(64, activation="identity", profile="matern", amplitude=2.0))
    """

    feature_map: FeatureMap = field(default_factory=_convolutions)
    gain: Number = 1.0
    shift: Number = 1.0
    field_tau: Number = 5.0
    field_regularity: Number = 2.0
    n_modes: int = 32
    activation: Literal["gelu", "tanh", "elu", "sin"] = "gelu"

    @property
    def domain(self) -> Space:
        """Delegated to the other map."""
        return self.feature_map.domain

    @property
    def theta_shape(self) -> tuple[int]:
        """θ of the other map, then the coefficients of two fields."""
        return (math.prod(self.feature_map.theta_shape) + 2 * self.n_modes,)

    @property
    def work_per_value(self) -> int:
        """Delegated to the other map."""
        return self.feature_map.work_per_value

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The sizes and the smoothness of the fields, and the hyperparameters of the other map."""
        inner = {f"feature_map__{name}": what for name, what in self.feature_map.hyperparameters.items()}
        return {
            "gain": Range(1e-2, 30.0),
            "shift": Range(1e-2, 30.0),
            "field_tau": Range(0.5 / self.domain.longest, 50.0 / self.domain.longest),
            "activation": Choice(("gelu", "tanh")),
            **{name: what for name, what in inner.items() if not name.endswith(("__activation", "__bias"))},
        }

    def prepare(self, theta: Float[Tensor, "m numbers"], grid: Nodes) -> Prepared:
        """Return 1 + gain·R_θ and shift·S_θ on the grid, followed by what the modulated feature map prepares."""
        region, shape = self.region, self.feature_map.theta_shape
        draws = GaussianField(region, region.natural_boundary, self.field_tau, self.field_regularity, self.n_modes)
        inner, *fields = theta.split([math.prod(shape), self.n_modes, self.n_modes], 1)
        one, other = (draws(part, region.grid(*grid.one_channel.shape)) for part in fields)
        return 1 + self.gain * one, self.shift * other, *self.feature_map.prepare(inner.reshape(-1, *shape), grid)

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """The other features, then the fields, feature first."""
        gain, shift, *inner = prepared
        values = self.feature_map.evaluate(a, tuple(inner)).transpose(0, 1)
        return activate(self.activation, torch.addcmul(shift[:, None], gain[:, None], values)).transpose(0, 1)
