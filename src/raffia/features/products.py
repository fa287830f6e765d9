"""Product features: products of an input's Fourier multipliers, formed as a pseudospectral code forms them, along substeps."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations_with_replacement
from typing import ClassVar

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, channelled
from raffia.spaces import Domain, Grid, Space
from raffia.spaces.spectral import wavenumbers

Numbers = float | Float[Tensor, "..."]
Spectra = Complex[Tensor, "_ _ *modes"]
Sums = Complex[Tensor, "n weights products *modes"]

KINDS = ("squares", "slopes", "transport", "advection", "cubes")


@dataclass(frozen=True)
class Products:
    """Products of the channels of a function and their derivatives, by their Fourier coefficients.

    Waves above `cutoff` times the highest one are left out before functions are multiplied on the grid, and not afterwards.

    * squares: u_i u_j, and cubes: u_i u_j u_k;
    * slopes: ∇u_i·∇u_j;
    * transport: ∇^⊥Δ⁻¹u_0·∇u_j, of a vorticity in two dimensions;
    * advection: (u_0, …, u_{d−1})·∇u_j, of a velocity in d dimensions.
    """

    kinds: tuple[str, ...]
    cutoff: float
    grid: Grid
    channels: int

    @classmethod
    def possible(cls, domain: Domain, channels: int) -> tuple[str, ...]:
        """The kinds that there are for so many channels."""
        excluded = {"transport": domain.dim != 2, "advection": not 1 < domain.dim <= channels}
        return tuple(kind for kind in KINDS if not excluded.get(kind))

    def __post_init__(self) -> None:
        domain = self.grid.domain
        if not set(self.kinds) <= set(possible := Products.possible(domain, self.channels)):
            raise RaffiaError(f"ProductFeatures(kinds=…) must be some of {possible} for {self.grid.domain}; got {self.kinds}.")

    @property
    def count(self) -> int:
        """How many products there are."""
        pairs = math.comb(self.channels + 1, 2)
        each = {"squares": pairs, "slopes": pairs, "cubes": math.comb(self.channels + 2, 3)}
        return sum(each.get(kind, self.channels) for kind in self.kinds)

    def __call__(self, spectra: Spectra) -> Spectra:
        """Multiplied on the grid."""
        axes, domain = tuple(range(-len(self.grid.shape), 0)), self.grid.domain
        waves = [k.to(spectra.device) for k in wavenumbers(self.grid)]
        low = [k.abs() <= self.cutoff * (points // 2) for k, points in zip(waves, self.grid.shape, strict=True)]
        slopes = [1j * (k * domain.longest / extent).to(spectra) for k, extent in zip(waves, domain.extents, strict=True)]

        def values(f: Tensor) -> Tensor:
            return torch.fft.irfftn(f, s=self.grid.shape, dim=axes, norm="forward")

        kept = reduce(torch.logical_and, low) * spectra
        u, gradients = values(kept).unbind(1), list[tuple[Tensor, ...]]()
        if not set(self.kinds) <= {"squares", "cubes"}:
            gradients = [*zip(*(values(slope * kept).unbind(1) for slope in slopes), strict=True)]  # of each channel
        found: list[Tensor] = []
        for kind in self.kinds:
            if kind in ("squares", "cubes"):
                found += [reduce(torch.mul, some) for some in combinations_with_replacement(u, 2 if kind == "squares" else 3)]
            elif kind == "slopes":
                found += [sum_of_products(f, g) for f, g in combinations_with_replacement(gradients, 2)]
            else:
                stream = kind == "transport"
                velocity = [values(f) for f in stream_velocity(slopes, kept[:, 0])] if stream else u[: len(slopes)]
                found += [sum_of_products(velocity, gradient) for gradient in gradients]
        return torch.fft.rfftn(torch.stack(found, 1), dim=axes, norm="forward")


def stream_velocity(slopes: list[Tensor], vorticity: Tensor) -> list[Tensor]:
    """∇^⊥Δ⁻¹ω in two dimensions, with the derivatives iκ along both axes."""
    laplacian = (slopes[0] ** 2 + slopes[1] ** 2).real
    stream = torch.where(laplacian < 0, 1 / laplacian.clamp(max=-1e-6), 0.0) * vorticity
    return [-slopes[1] * stream, slopes[0] * stream]


def sum_of_products(one: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
    """Σ_i f_i g_i."""
    return reduce(torch.add, (f * g for f, g in zip(one, other, strict=True)))


@dataclass(frozen=True)
class Substep:
    """v' = D v + B P(v) + f,  v⁺ = v' + E (P(v') − P(v)): a step of exponential time differencing, by multipliers and a source f."""

    D: Complex[Tensor, "channels channels *modes"]
    B: Complex[Tensor, "channels products *modes"]
    E: Complex[Tensor, "channels products *modes"]
    f: Complex[Tensor, "channels *modes"]

    def sums(self, products: Products, v: Spectra, steps: int, limit: Numbers | None = None) -> tuple[Sums, Sums]:
        """Σ_j D_ii^(s−1−j) P(v_j) and the same of P(v'_j) − P(v_j), over all s steps, for each channel i: what outputs are linear in.

        States v_j of a norm above the `limit` are scaled down to it, so that features are bounded.
        """
        diagonal = self.D.diagonal(dim1=0, dim2=1).movedim(-1, 0)[:, None]  # (channels, 1, *modes)
        diagonal = diagonal if steps > 1 else diagonal[:1]  # there is one term only
        first = second = torch.zeros((), dtype=v.dtype, device=v.device)
        for j in range(steps):
            v = limited(v, limit)
            before = products(v)
            stage = limited(applied(self.D, v) + applied(self.B, before) + self.f, limit)
            after = products(stage)
            first, second = (diagonal * total + part[:, None] for total, part in ((first, before), (second, after - before)))
            if j < steps - 1:
                v = stage + applied(self.E, after - before)
        return first, second


def limited(spectra: Spectra, limit: Numbers | None) -> Spectra:
    """Functions with coefficients of this norm at most: larger ones are scaled down."""
    if limit is None:
        return spectra
    norms = torch.linalg.vector_norm(spectra, dim=tuple(range(1, spectra.ndim)), keepdim=True)
    return spectra * (limit / norms).clamp(max=1.0)


def applied(multiplier: Complex[Tensor, "rows columns *modes"], spectra: Spectra) -> Spectra:
    """A matrix of multipliers times functions."""
    if multiplier.shape[0] == multiplier.shape[1] == 1:
        return multiplier[0] * spectra
    return torch.einsum("ij...,nj...->ni...", multiplier, spectra)


@dataclass(repr=False, eq=False)
class ProductFeatures(FeatureMap):
    """Products along a time step of an equation with polynomial nonlinear terms, on a torus.

    φ(a; θ) = Σ_p θ_p R_p Σ_j D^(s−1−j) P_p(v_j) + θ'_p R'_p Σ_j D^(s−1−j) (P_p(v'_j) − P_p(v_j)),  products P_p along s
    substeps.

    v_0 = a,  v'_j = D v_j + B P(v_j) + f,  v_{j+1} = v'_j + E (P(v'_j) − P(v_j)): exponential time differencing with
    multipliers that are estimated from data. R_p scale each wave of a product to the size of that of the input. More features
    than θ has numbers are linearly dependent. With coefficients="modal" a model is a linear multiplier and a few products,
    with a coefficient for each wave.

    They represent Burgers, Korteweg–de Vries, Kuramoto–Sivashinsky, Fisher, Gray–Scott and Navier–Stokes equations, also from
    noisy data, since the features are few. They do not represent boundaries, or coefficients that depend on the position.

    Good values: those that `raffia.fit` estimates (`features="products"`); normalize=False.

    Parameters
    ----------
    kinds
        The kinds of products, such as "squares".
    cutoff
        Waves above this share of the highest are removed before products are formed.
    substeps
        s.
    points
        The grid on which products are formed.
    size
        Inputs are divided by it.
    D, B, E, f, scales
        The multipliers, of shapes (channels, channels, *modes), (channels, products, *modes), the same, (channels, *modes)
        and (features, *modes).
    sourced
        Whether a model has a mean function.
    limit
        The largest norm of the coefficients of a state v_j. Larger states are scaled down, so that features are bounded.
    domain
        The torus, or `Channels` on it.

    Examples
    --------
    >>> import raffia
    >>> from raffia.problems import Scenario
    >>> u = Scenario().trajectories(12, points=160, steps=4, dt=1.0, seed=0)
    >>> data = raffia.Dataset.of_trajectories(u, raffia.Domain(1))
    >>> bool(raffia.fit(data, "products", effort="quick").errors.mean() < 1e-3)
    True
    """

    normalized: ClassVar[bool] = False
    few: ClassVar[bool] = True
    fitted_to_data: ClassVar[bool] = True

    kinds: tuple[str, ...] = ("squares",)
    cutoff: float = 2 / 3
    substeps: int = 1
    points: tuple[int, ...] = (64,)
    size: float = 1.0
    D: Complex[Tensor, "channels channels *modes"] | None = None
    B: Complex[Tensor, "channels products *modes"] | None = None
    E: Complex[Tensor, "channels products *modes"] | None = None
    f: Complex[Tensor, "channels *modes"] | None = None
    scales: Float[Tensor, "features *modes"] | None = None
    sourced: bool = False
    limit: Numbers | None = None
    domain: Space = field(default_factory=lambda: Domain(1))

    @property
    def theta_shape(self) -> tuple[int]:
        """Each feature has two random coefficients for each product: of the input, and of its change over a predictor stage.

        With several substeps, there are two for each product and channel.
        """
        return (2 * self.products.count * (self.domain.channels if self.substeps > 1 else 1),)

    @property
    def work_per_value(self) -> int:
        """Transforms of every substep."""
        return 4 * self.substeps

    @property
    def products(self) -> Products:
        """Those that are formed."""
        if not self.region.periodic:
            raise RaffiaError(f"ProductFeatures needs functions on a torus; got {self.domain!r}.")
        return Products(self.kinds, float(self.cutoff), self.region.grid(*self.points), self.domain.channels)

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Products, then one matrix product."""
        return self.precompute(a)(prepared)

    def precompute(self, a: Float[Tensor, "n *input"]) -> Callable[[Prepared], Tensor]:
        """Products once, in double precision, then one matrix product for each tile of features."""
        products = self.products
        channels = channelled(a, self.domain).double() / self.size
        shape, axes = channels.shape[2:], tuple(range(2, channels.ndim))
        v = refitted(torch.fft.rfftn(channels, dim=axes, norm="forward"), tuple(shape), self.points)
        sums = torch.cat(self.substep(v).sums(products, v, self.substeps, self.limit), 1).flatten(1, 2)
        scaled = sums if self.scales is None else self.scales.to(sums) * sums
        fields = torch.fft.irfftn(refitted(scaled, self.points, tuple(shape)), s=shape, dim=axes, norm="forward").to(a)

        def features(prepared: Prepared) -> Float[Tensor, "n m *grid"]:
            return torch.einsum("mp,np...->mn...", prepared[0], fields).transpose(0, 1)

        return features

    def substep(self, like: Tensor) -> Substep:
        """The multipliers; where there are none yet, the identity."""
        channels, modes, count = self.domain.channels, like.shape[2:], self.products.count
        zero = torch.zeros(channels, count, *modes, dtype=like.dtype, device=like.device)
        eye = torch.eye(channels).to(zero).reshape(channels, channels, *[1] * len(modes)).expand(-1, -1, *modes)
        given = {name: getattr(self, name) for name in ("D", "B", "E", "f") if getattr(self, name) is not None}
        return Substep(**{"D": eye, "B": zero, "E": zero, "f": zero[:, 0]} | {name: f.to(zero) for name, f in given.items()})


def refitted(
    spectra: Complex[Tensor, "n functions *given"], source: tuple[int, ...], target: tuple[int, ...]
) -> Complex[Tensor, "n functions *made"]:
    """Coefficients on the waves of another grid: those it cannot hold are dropped, as is the highest one of an even circle."""
    if source == target:
        return spectra
    for axis, (old, new) in enumerate(zip(source, target, strict=True)):
        if old == new:
            continue
        position, last, low = axis - len(source), axis == len(source) - 1, (min(old, new) + 1) // 2
        moved = spectra.movedim(position, -1)
        size = new // 2 + 1 if last else new
        made = moved.new_zeros(*moved.shape[:-1], size)
        made[..., :low] = moved[..., :low]
        if not last and low > 1:
            made[..., -(low - 1) :] = moved[..., -(low - 1) :]
        spectra = made.movedim(-1, position)
    return spectra
