"""Random features in Fourier space, on tori, boxes and mixed domains (eqn:rf_fourier, eqn:filter)."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.activations import activate
from raffia.features.base import Choice, FeatureMap, Prepared, Range, channelled, region_of, sum_of
from raffia.measures.gaussian import matern
from raffia.spaces import Domain, Grid, LaplacianBasis, Mesh, Nodes, Space
from raffia.spaces.spectral import waves
from raffia.transforms import outside_transforms

Number = float | Float[Tensor, ""]

MATRIX_WAVES = 80
"""Up to this number of wavenumbers, a GPU sums waves faster by a matrix product than by a zero-padded inverse FFT."""


def _synthesis(spectrum: Complex[Tensor, "*batch waves"], points: int) -> Float[Tensor, "*batch points"]:
    """Σ_k X_k e^(2πikx) over k and −k, from coefficients of the wavenumbers 0, 1, …; X₀ is real."""
    if spectrum.is_cuda and spectrum.shape[-1] <= MATRIX_WAVES:
        return torch.view_as_real(spectrum).flatten(-2) @ _waves(spectrum.shape[-1], points, spectrum.device).to(spectrum.real)
    return torch.fft.irfft(spectrum, n=points, norm="forward")


@lru_cache(maxsize=16)
@outside_transforms()
def _waves(count: int, points: int, device: torch.device) -> Float[Tensor, "twice points"]:
    """Rows 1, 0, then 2 cos 2πkx, −2 sin 2πkx."""
    k = torch.arange(count)
    phase = 2 * math.pi / points * (k[:, None] * torch.arange(points) % points).double()
    waves = torch.stack([2 * phase.cos(), -2 * phase.sin()], dim=1)
    waves[0] /= 2
    if 2 * (count - 1) == points:
        waves[-1] /= 2  # the Nyquist mode is its own mirror image
    return waves.flatten(0, 1).to(device)


def wavenumber_filter(r: Tensor, beta: Number) -> Tensor:
    """σ_χ(r) = max(0, min(2r, (r + ½)^(−β)))   (eqn:filter)."""
    return torch.minimum(2 * r, (r + 0.5) ** -torch.as_tensor(beta, dtype=r.dtype, device=r.device)).clamp(min=0)


@dataclass(repr=False, eq=False)
class FourierFeatures(FeatureMap):
    """A filtered random convolution followed by a pointwise function: the features of the paper for Burgers' equation.

    φ(a; θ) = σ( amplitude · F⁻¹(χ · Fa · Fθ) + bias · ξ₀ ),  θ ~ N(0, τ^(2α−1) (−Δ + τ²)^(−α)),  χ(k) = σ_χ(2πδ|k|).

    A filtered random convolution followed by a pointwise function σ. The Fourier multipliers are independent complex normal variables of
    standard deviation w_k. The defaults are the paper's for Burgers' equation, with the factor 1024 that its text does not mention but its
    experiments have; it matters, since ELU is not homogeneous. Waves that the grid of `a` cannot resolve are dropped, never aliased.

    Good values: amplitude such that the argument of σ has a standard deviation near 1.5; tau and regularity such that θ is about as smooth
    as the inputs.

    Parameters
    ----------
    n_modes
        The number of sines and cosines; on a line, wavenumbers up to n_modes/2.
    tau, regularity
        τ and α of the distribution of θ.
    delta, beta
        δ and β of the filter χ.
    amplitude, bias
        The scale of the argument of σ, and of its random shift.
    activation
        The name of σ, see `raffia.features.ACTIVATIONS`.
    profile
        w_k. "filter" is the paper's χ(k)·√λ_k, and "matern" is (1 + (2πk/τ)²)^(−α/2) without filter. A vector has one positive weight for
        each wavenumber 1, 2, …, which a search then learns; in several dimensions, one for each sine or cosine in the order of the
        eigenvalues of the Laplacian.
    boundary
        How inputs are extended along non-periodic axes, to a torus of twice the length: evenly ("neumann", a cosine series) or oddly
        ("dirichlet", a sine series, for inputs that vanish at the boundary).
    mean
        None ignores the mean of the input, since χ(0) = 0, so nothing is learnt from constant functions. With a number, amplitude · mean ·
        ξ times the mean of the input is added before σ.
    domain
        The space of the inputs. Each of several `Channels` has its own random convolution; they are added before σ, with means weighted by
        the profile at k = 0. On a `Mesh`, coefficients are computed by its quadrature and series are summed at its nodes.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> model = RandomFeatureModel(FourierFeatures(tau=7.0), n_features=512, ridge="auto")
    """

    normalized: ClassVar[bool] = False

    n_modes: int = 128
    tau: Number = 5.0
    regularity: Number = 2.0
    delta: Number = 0.0025
    beta: Number = 4.0
    amplitude: Number = 1024.0
    bias: Number = 0.0
    activation: str = "elu"
    profile: Literal["filter", "matern"] | Float[Tensor, "wavenumbers"] = "filter"
    boundary: Literal["neumann", "dirichlet"] = "neumann"
    mean: Number | None = None
    domain: Space = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def theta_shape(self) -> tuple[int]:
        """ξ₀ of the random shift, then ξ of sin 2πx, cos 2πx, sin 4πx, … in the order of the Laplacian's eigenfunctions.

        With several channels, or with `mean`, each channel has its own, after one for its mean.
        """
        return (1 + (self.domain.channels * (1 + self.n_modes) if self._uses_means else self.n_modes),)

    @property
    def _uses_means(self) -> bool:
        return self.domain.has_components or self.mean is not None

    def prepare(self, theta: Float[Tensor, "m modes"], grid: Nodes) -> Prepared:
        """Multipliers (m, channels, *spectrum), amplitude · χ(k) · (Fθ)(k) for the waves that the grid can resolve, and bias·ξ₀.

        Without means, bias·ξ₀ is in the place of k = 0.
        """
        self._check()
        nodes = grid.one_channel
        torus = self._torus_grid(self._grid_for(nodes) if isinstance(nodes, Mesh) else nodes)  # type: ignore[arg-type]
        own = theta[:, 1:].unflatten(1, (self.domain.channels, -1))
        shift = self.bias * theta[:, :1]
        means = shift[:, None]
        if self._uses_means:
            zero = torch.zeros(1, dtype=theta.dtype, device=theta.device)
            means = self.amplitude * (self._profile(zero) if self.mean is None else self.mean) * own[:, :, :1]
        parts = zip(own[:, :, -self.n_modes :].unbind(1), means.unbind(1), strict=True)
        return torch.stack([self._spectrum(xi, torus, mean) for xi, mean in parts], 1), shift

    def _spectrum(
        self, xi: Float[Tensor, "m modes"], torus: Grid, zero: Float[Tensor, "m 1"]
    ) -> Complex[Tensor, "m *spectrum"]:
        """The multipliers of one channel, with `zero` in the place of k = 0."""
        shift = torch.complex(zero, torch.zeros_like(zero))
        if torus.domain.dim == 1:
            return torch.cat([shift, self._line(xi, torus)], dim=-1)
        basis = LaplacianBasis(torus.domain, "periodic", self.n_modes, constant=False)
        weights = self.amplitude * self._profile(basis.eigenvalues.sqrt().to(xi))
        field = math.sqrt(2 * math.prod(torus.domain.extents)) * basis.synthesis(weights * xi, torus)
        spectrum = torch.fft.rfftn(field, dim=tuple(range(1, field.ndim)), norm="forward")
        origin = torch.zeros(spectrum.shape[1:], dtype=torch.bool, device=xi.device)
        origin[(0,) * origin.ndim] = True
        return torch.where(origin, shift.reshape(-1, *[1] * origin.ndim), spectrum)

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Filtered channels are added, then transformed for each pair (a_i, θ_j). On a mesh, sums replace transforms."""
        multiplier, shift = prepared
        channels, nodes = channelled(a, self.domain), self.domain.one_channel.grid_of(a)
        axes, shape = tuple(range(-len(nodes.shape), 0)), channels.shape[:2]
        if isinstance(nodes, Mesh):
            matrices = waves(nodes, self._torus_grid(self._grid_for(nodes)).shape, self.boundary)
            count = multiplier[0, 0].numel()  # of a line, the wavenumbers it has
            forth, back = matrices[0].to(multiplier)[:, :count], matrices[1].to(multiplier)[:count]
            spectrum = (channels.to(forth) @ forth).reshape(*shape, *multiplier.shape[2:])
        else:
            extended = self._reflected(channels.flatten(0, 1))
            spectrum = torch.fft.rfftn(extended, dim=axes, norm="forward")[..., : multiplier.shape[-1]].unflatten(0, shape)
        if not self._uses_means:
            mean = spectrum[:, 0]
            while mean.ndim > 2:
                mean = mean[..., 0]
            mean[:, 0] = 1  # k = 0 carries the shift: φ does not see the mean of a, since χ(0) = 0
        product = sum_of(multiplier[:, i, None] * spectrum[:, i] for i in range(shape[1]))
        if isinstance(nodes, Mesh):
            values = (product.flatten(2) @ back).real
        elif len(axes) == 1:
            values = _synthesis(product, extended.shape[-1])[..., : nodes.size]
        else:
            values = torch.fft.irfftn(product, s=extended.shape[1:], dim=axes, norm="forward")[(..., *map(slice, nodes.shape))]
        if self._uses_means:
            values = values + shift.reshape(-1, *[1] * (values.ndim - 1))
        return activate(self.activation, values).transpose(0, 1)

    def _line(self, xi: Float[Tensor, "m modes"], torus: Grid) -> Complex[Tensor, "m _"]:
        """The multipliers of the wavenumbers 1, 2, … of a line, without any transform."""
        points, extent = torus.shape[0], torus.domain.extents[0]
        reach = min(self.n_modes // 2, (points - 1) // 2)
        if reach < 1:
            raise RaffiaError(
                f"FourierFeatures(n_modes={self.n_modes}) on {points} point(s) has no wavenumber left: use more of both."
            )
        wave = 2 * math.pi / extent * torch.arange(1, reach + 1, dtype=xi.dtype, device=xi.device)
        sine, cosine = xi[:, 0 : 2 * reach : 2], xi[:, 1 : 2 * reach : 2]
        return self.amplitude * self._profile(wave) * torch.complex(cosine, -sine)

    @property
    def _domain(self) -> Domain:
        """The torus or box of the inputs, for any discretisation."""
        return region_of(self.domain.region, "FourierFeatures")

    def _grid_for(self, mesh: Mesh) -> Grid:
        """A grid on the domain of the mesh, with just enough points for all modes."""
        if mesh.domain != self._domain:
            raise RaffiaError(f"the mesh lies in {mesh.domain}, the features in {self._domain}: pass Mesh(nodes, domain=…).")
        reach = (LaplacianBasis(self._reflection, "periodic", self.n_modes, constant=False).modes.amax(0) + 1) // 2
        axes = zip(self._domain.kinds, reach.tolist(), strict=True)
        return Grid(self._domain, tuple(kind.points(2 * r + 1 if kind.periodic else r + 1) for kind, r in axes))

    @property
    def _reflection(self) -> Domain:
        """The torus of the extended inputs: twice as long along non-periodic axes."""
        domain = self._domain
        if domain.periodic:
            return domain
        lengths = zip(domain.kinds, domain.extents, strict=True)
        return Domain(domain.dim, periodic=True, extent=tuple(extent * (1 if kind.periodic else 2) for kind, extent in lengths))

    def _torus_grid(self, grid: Grid) -> Grid:
        """The grid of the extended inputs."""
        return Grid(self._reflection, tuple(kind.period(points) for kind, points, _ in grid.lines))

    def _reflected(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n *period"]:
        """One period of the even or odd extension along non-periodic axes."""
        for axis, kind in enumerate(self._domain.kinds, 1):
            a = kind.reflected(a, axis, odd=self.boundary == "dirichlet")
        return a

    def _check(self) -> None:
        _ = self._domain
        if self.boundary not in ("neumann", "dirichlet"):
            raise RaffiaError(f"FourierFeatures(boundary=…) must be 'neumann' or 'dirichlet'; got {self.boundary!r}.")
        for name in ("tau", "delta", "beta"):
            if not bool(torch.as_tensor(getattr(self, name), dtype=torch.float64).detach() > 0):
                raise RaffiaError(f"FourierFeatures({name}=…) must be positive; got {getattr(self, name)!r}.")

    @property
    def work_per_value(self) -> int:
        """The number of intermediate values: reflection doubles them along each non-periodic axis, and each channel has its own."""
        reflected = sum(not kind.periodic for kind in self._domain.kinds)
        return self.domain.channels * (2**reflected if self._domain.dim > 1 else 1)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The main parameters and, if used, those of the filter; or all weights of a profile given as a vector."""
        shift: dict[str, Range | Choice] = {"bias": Range(1e-3, 30.0), "activation": Choice(("gelu", "tanh", "elu"))}
        shift |= {} if self.mean is None else {"mean": Range(1e-2, 1e2)}
        if isinstance(self.profile, Tensor):
            return shift | {"profile": Range(1e-6, 1e3, count=len(self.profile))}
        filtered = self.profile == "filter"
        ranges: dict[str, Range | Choice] = {
            "amplitude": Range(1e-2, 1e6) if filtered else Range(0.05, 500.0),
            "tau": Range(0.5 / self.domain.longest, 200.0 / self.domain.longest),
            "regularity": Range(0.6, 12.0),
            "profile": Choice(("matern", "filter")),
        }
        return shift | ranges | ({"delta": Range(1e-4 * self.domain.longest, 0.1 * self.domain.longest)} if filtered else {})

    def _profile(self, wave: Float[Tensor, "k"]) -> Float[Tensor, "k"]:
        """The standard deviation w_k of the multipliers, for amplitude 1."""
        if isinstance(self.profile, Tensor):
            if len(self.profile) < len(wave):
                raise RaffiaError(f"profile must have a weight for each wavenumber, here {len(wave)}; got {len(self.profile)}.")
            return self.profile[: len(wave)].to(wave)
        if self.profile == "matern":
            tau, regularity = (torch.as_tensor(p, dtype=wave.dtype, device=wave.device) for p in (self.tau, self.regularity))
            return (1 + (wave / tau) ** 2) ** (-regularity / 2)
        if self.profile != "filter":
            raise RaffiaError(f"profile must be 'filter', 'matern' or a vector of weights; got {self.profile!r}.")
        variance = matern(wave**2, self.tau, self.regularity, self._domain.dim) / (2 * math.prod(self._domain.extents))
        return wavenumber_filter(self.delta * wave, self.beta) * variance.sqrt()
