"""Scalar random features: random Fourier features of the coefficients of the input. The coefficients of the model are functions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, FeatureMap, Prepared, Range, sum_of
from raffia.spaces import POINT, Boundary, Domain, LaplacianBasis, Nodes, Space

Number = float | Float[Tensor, ""]
AFFINE_SHARE = 0.25
"""The share of affine features."""
MATERN = {1: (1.0,), 3: (1.0, 1.0), 5: (1.0, 1.0, 1 / 3), 7: (1.0, 1.0, 2 / 5, 1 / 15)}
"""The polynomials of Matérn kernels of smoothness ½, 1½, 2½, 3½."""
SMALLEST = 1e-14
"""For smaller squared distances, Matérn kernels are linear in it, since a square root has no derivative at 0."""
_AFFINE_QUANTILE = float(torch.special.ndtri(torch.tensor(AFFINE_SHARE, dtype=torch.float64)))


@dataclass(repr=False, eq=False)
class ScalarFeatures(FeatureMap):
    """Random cosines of the coefficients of the input: numbers, for any kind of output, and with a kernel in closed form.

    φ(a; θ) = √2 cos(Σ_k ω_k z_k + 2πU), with z_k = ⟨a, e_k⟩ and ω_k = ξ_k / (ℓ_k r): k(a, a') is stationary in the coefficients z.

    The values are numbers, so the coefficients of the model are functions. Outputs may be on another grid than inputs, or be numbers.
    e_k are the first `n_modes` eigenfunctions of the Laplacian, normalised to mean square 1. A quarter of the features are affine instead:
    affine · (Σ_k g_k z_k/ℓ_k + g₀) with normal g. They learn affine operators exactly; the other features learn the rest.

    The kernel has a closed form, so n_features=inf trains with it instead of features.

    Parameters
    ----------
    n_modes
        The number of modes z_k of each channel. With n_features=inf it may be None: the kernel then uses all values of an input, in the
        norm of L².
    lengthscale
        ℓ_k = lengthscale · (1 + κ_k/τ²)^(regularity/2), or a vector with one length scale for each mode, which a search then learns.
    tau, regularity
        τ and the exponent in ℓ_k.
    affine
        The size of the affine features; None leaves them out.
    law
        The distribution of ω and, with it, the kernel. "gaussian" (r = 1) is the squared exponential, whose predictions are smooth.
        "student" with `dof` degrees of freedom is a Matérn kernel of smoothness dof/2. "cauchy" (dof 1) is the exponential kernel. With
        "affine" all features are affine, which is linear regression on the modes or, with n_modes=None, on the whole input.
    dof
        Degrees of freedom of "student": 3, 5 or 7 with n_features=inf.
    whitening
        Divide principal components of inputs by this power of their standard deviations; 1 makes variances equal. For n_features=inf.
    boundary
        The boundary condition of e_k; None is "periodic" or "neumann".
    domain
        The space of the inputs: a `Domain` or a `Mesh`; `Channels`, each with its own modes; or `Vectors`, whose components are z_k, with
        one length scale for all.

    Examples
    --------
    >>> import math
    >>> from raffia import RandomFeatureModel, ScalarFeatures
    >>> features = RandomFeatureModel(ScalarFeatures(32), n_features=512, ridge="auto", normalize=True)
    >>> kernel = RandomFeatureModel(ScalarFeatures(None, law="student"), n_features=math.inf, ridge="auto", normalize=True)
    """

    n_modes: int | None = 64
    lengthscale: Number | Float[Tensor, "modes"] = 1.0
    tau: Number = 10.0
    regularity: Number = 1.0
    affine: Number | None = 1.0
    law: Literal["gaussian", "student", "cauchy", "affine"] = "gaussian"
    dof: int = 5
    whitening: Number = 0.0
    boundary: Boundary | None = None
    domain: Space = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def theta_shape(self) -> tuple[int]:
        """Variables for: affine or not, the phase (or g₀), r, then each mode of each channel."""
        return (2 + self._radial + self._modes * self.domain.channels,)

    def values_on(self, grid: Nodes) -> Nodes:
        """A point: the features are scalar."""
        return POINT

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """Length scales, their growth with the wavenumber, the distribution, and the size of the affine part if there is one."""
        linear = self.law == "affine"
        ranges: dict[str, Range | Choice] = {} if linear else {"law": Choice(("gaussian", "student", "cauchy"))}
        if self.affine is not None and not linear:
            ranges["affine"] = Range(1e-3, 1e3)
        if self._own_lengthscales is not None:
            return ranges | {"lengthscale": Range(1e-4, 1e6, count=len(self._own_lengthscales))}
        ranges["lengthscale"] = Range(1e-3, 1e4)
        if self.n_modes is None:
            return ranges | {"whitening": Range(-2.0, 1.0, log=False)}
        if self.domain.tabular:
            return ranges
        unit = self.domain.longest
        return ranges | {"tau": Range(0.5 / unit, 100.0 / unit), "regularity": Range(0.05, 6.0)}

    def prepare(self, theta: Float[Tensor, "m size"], grid: Nodes) -> tuple[Tensor, Tensor, Tensor]:
        """Which features are affine; phases or g₀; frequencies ξ_k/(ℓ_k r) or slopes g_k/ℓ_k."""
        if self.law not in ("gaussian", "student", "cauchy", "affine"):
            raise RaffiaError(f"ScalarFeatures(law=…) must be 'gaussian', 'student', 'cauchy' or 'affine'; got {self.law!r}.")
        if self.dof < 1:
            raise RaffiaError(f"ScalarFeatures(dof=…) must be 1 or more; got {self.dof!r}.")
        share = math.inf if self.law == "affine" else -math.inf if self.affine is None else _AFFINE_QUANTILE
        straight = theta[:, :1] < share
        radial, xi = theta[:, 2 : 2 + self._radial], theta[:, 2 + self._radial :]
        r = radial.square().mean(1, keepdim=True).sqrt() if self._radial else torch.ones_like(theta[:, :1])
        phase = torch.where(straight, theta[:, 1:2], 2 * math.pi * torch.special.ndtr(theta[:, 1:2]))
        frequency = xi / self._lengthscales(theta) / torch.where(straight, torch.ones_like(r), r)
        return straight[:, 0], phase[:, 0], frequency

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m"]:
        """A matrix product and a cosine."""
        straight, phase, frequency = prepared
        z = self.coefficients(a)
        argument = z @ frequency[:, : z.shape[1]].mT + phase
        waves = math.sqrt(2) * torch.cos(argument)
        if self.affine is None and self.law != "affine":
            return waves
        return torch.where(straight, (self.affine or 1.0) * argument, waves)

    def combination(
        self, theta: Float[Tensor, "m size"], coef: Float[Tensor, "m *columns"], grid: Nodes
    ) -> Callable[[Tensor], Tensor]:
        """All features at once, since they are scalar."""
        prepared = self.prepare(theta, grid)
        return lambda a: self.evaluate(a, prepared) @ coef

    def coefficients(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n modes"]:
        """z_k = ⟨a, e_k⟩ with e_k of mean square 1, on any grid; for vectors, the components."""
        if self.domain.tabular:
            if a.shape[-1] > self._modes:
                raise RaffiaError(
                    f"ScalarFeatures(n_modes={self._modes}) takes that many components or fewer; got {a.shape[-1]}."
                )
            return a
        basis, nodes = self._basis, self.domain.one_channel.grid_of(a)
        z = basis.analysis(a, nodes).reshape(len(a), -1)  # type: ignore[arg-type]  # the basis has checked the domain
        return z / math.sqrt(math.prod(basis.domain.extents))

    def coordinates(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n size"]:
        """z_k divided by relative length scales or, with n_modes=None, all values of a in the norm of L²."""
        if self.n_modes is None:
            nodes = self.domain.grid_of(a)
            x = nodes.embed(a) / math.sqrt(1.0 if self.domain.tabular else nodes.one_channel.volume)
            return x if self._own_lengthscales is None else x / self._own_lengthscales.to(x)
        z = self.coefficients(a)
        return z / (self._lengthscales(z)[: z.shape[1]] / self._shared_lengthscale)

    def kernel_of(self, x: Float[Tensor, "n size"], y: Float[Tensor, "n2 size"]) -> Float[Tensor, "n n2"]:
        """A weighted sum of the affine kernel (x·y/ℓ² + 1) · affine² and a stationary one, a function of |x − y|/ℓ."""
        inner = x @ y.mT
        scale = self._shared_lengthscale**2
        straight = (inner / scale + 1) * (self.affine or 1.0) ** 2
        if self.law == "affine":
            return straight
        squared = x.square().sum(1)[:, None] + y.square().sum(1) - 2 * inner
        waves = _stationary(self.law, self.dof, squared / scale)
        return waves if self.affine is None else AFFINE_SHARE * straight + (1 - AFFINE_SHARE) * waves

    @property
    def _shared_lengthscale(self) -> Number:
        """The common factor of all length scales; 1 if each mode has its own."""
        return self.lengthscale if self._own_lengthscales is None else 1.0

    @property
    def _own_lengthscales(self) -> Float[Tensor, "modes"] | None:
        """A length scale for each mode, or None."""
        return self.lengthscale if isinstance(self.lengthscale, Tensor) and self.lengthscale.ndim else None

    @property
    def _basis(self) -> LaplacianBasis:
        domain = self.domain.region
        if not isinstance(domain, Domain):
            raise RaffiaError(f"ScalarFeatures(domain=…) must be a Domain, Mesh, Channels or Vectors; got {self.domain!r}.")
        return LaplacianBasis(domain, self.boundary or domain.natural_boundary, self._modes)

    @property
    def _modes(self) -> int:
        if self.n_modes is None:
            raise RaffiaError("ScalarFeatures(n_modes=None) needs n_features=inf: pass a number of modes.")
        return self.n_modes

    @property
    def _radial(self) -> int:
        return {"gaussian": 0, "student": self.dof, "cauchy": 1}.get(self.law, 0)

    def _lengthscales(self, like: Tensor) -> Float[Tensor, "modes"]:
        if self._own_lengthscales is not None:
            if len(self._own_lengthscales) != (many := self._modes * self.domain.channels):
                raise RaffiaError(f"lengthscale must be a number or {many}, one a mode; got {len(self._own_lengthscales)}.")
            return self._own_lengthscales.to(like)
        if self.domain.tabular:
            return torch.as_tensor(self.lengthscale, dtype=like.dtype, device=like.device).expand(self._modes)
        tau, regularity = (torch.as_tensor(p, dtype=like.dtype, device=like.device) for p in (self.tau, self.regularity))
        growth = (1 + self._basis.eigenvalues.to(like) / tau**2).repeat(self.domain.channels)
        return self.lengthscale * growth ** (regularity / 2)


def _stationary(law: str, dof: int, squared: Tensor) -> Tensor:
    """Return E cos(ω·d) for |d|² = squared: the squared exponential, or the Matérn kernel of smoothness dof/2."""
    if law == "gaussian":
        return torch.exp(-squared / 2)
    order = 1 if law == "cauchy" else dof
    if order not in MATERN:
        raise RaffiaError(f"the kernel of law='student' has a closed form for dof in {tuple(MATERN)}; got dof={dof}.")
    apart = squared.clamp(min=SMALLEST)
    s = (order * apart).sqrt()
    polynomial = sum_of(factor * s**power for power, factor in enumerate(MATERN[order]))
    slope = SMALLEST**-0.5 if order == 1 else order / (2 * (order - 2))  # −dk/d|d|² at 0
    return polynomial * torch.exp(-s) - slope * (squared - apart)
