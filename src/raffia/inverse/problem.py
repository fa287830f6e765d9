"""A Bayesian inverse problem in whitened coordinates: the density exp(−Φ(ξ) − |ξ|²/2), Φ the misfit of the data."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.inverse.prior import Prior, WhiteNoise
from raffia.validation import check_device


@dataclass(frozen=True, eq=False)
class InverseProblem:
    """Find a = prior(ξ) from data y = O F(a) + e, with ξ ~ N(0, I) and noise e ~ N(0, Γ).

    The misfit is Φ(ξ) = ½ |Γ^(−½) (O F(prior(ξ)) − y)|².

    Parameters
    ----------
    forward
        F, from a batch of functions (n, *grid) to a batch of outputs, both tensors: `model.predict`, `problem.solve`, or any
        other. Methods with derivatives need it to be differentiable by torch; `pcn` does not.
    prior
        The distribution of a, as a map of white noise.
    data
        y, the observed numbers, (points,).
    noise
        The standard deviation of each number, or one for all.
    observe
        O, a matrix (points, values) for outputs flattened, such as `point_values` makes; None observes all values.
    error
        What a surrogate adds to Γ: variances, a covariance such as that of `surrogate_error`, or a function from a batch of a
        to a covariance for each, such as `error_bars` makes. Then Γ depends on ξ, and Φ(ξ) has the additional term ½ log det
        Γ(ξ)/det N, with the covariance N of the noise alone.
    device
        Where to compute; None is where the data are.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> problem.misfit(torch.zeros(1, 8, dtype=torch.float64)).tolist()
    [0.0]
    """

    forward: Callable[[Tensor], Tensor]
    prior: Prior | WhiteNoise
    data: Array
    noise: float | Array
    observe: Array | None = None
    error: float | Array | Callable[[Tensor], Tensor] | None = None
    device: str | torch.device | None = None

    def __post_init__(self) -> None:
        check_device(self.device)
        y, noise = self.observed, self._tensor(self.noise)
        if y.ndim != 1 or not len(y) or not torch.isfinite(y).all():
            raise RaffiaError(f"data must be finite numbers of shape (observations,); got shape {tuple(y.shape)}.")
        if noise.shape not in ((), y.shape) or not (torch.isfinite(noise) & (noise > 0)).all():
            raise RaffiaError(
                f"noise must be a positive standard deviation, or one for each of {len(y)} observations; got {self.noise!r}."
            )
        if self._matrix is not None and (self._matrix.ndim != 2 or len(self._matrix) != len(y)):
            raise RaffiaError(
                f"observe must be a matrix with a row for each of {len(y)} observations; got shape {tuple(self._matrix.shape)}."
            )
        error = self._error
        if error.shape not in ((), y.shape, (len(y), len(y))) or not torch.isfinite(error).all():
            raise RaffiaError(
                f"error must be a variance, {len(y)} of them or their covariance, ({len(y)}, {len(y)}); got shape {tuple(error.shape)}."
            )
        if (error < 0).any() if error.ndim < 2 else torch.linalg.cholesky_ex(self._covariance).info > 0:
            raise RaffiaError("error must be variances, none negative, or a covariance, symmetric and positive semidefinite.")

    @property
    def size(self) -> int:
        """How many coordinates ξ there are."""
        return self.prior.size

    @property
    def place(self) -> torch.device:
        """Where to compute."""
        return torch.device(self.device) if self.device is not None else torch.as_tensor(self.data).device

    @cached_property
    def observed(self) -> Tensor:
        """y, in float64 where to compute."""
        return self._tensor(self.data)

    def residuals(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n observations"]:
        """Γ^(−½) (O F(prior(ξ)) − y), differentiable where F is, and √(log det Γ/det N) after it where Γ depends on ξ."""
        a = self.prior(xi)
        values = self.forward(a).flatten(1).double()
        if self._matrix is not None:
            if values.shape[1] != self._matrix.shape[1]:
                raise RaffiaError(
                    f"observe must have a column for each of the {values.shape[1]} numbers of an output of forward; got "
                    f"{self._matrix.shape[1]}."
                )
            values = values @ self._matrix.mT
        elif values.shape[1] != len(self.observed):
            raise RaffiaError(
                f"data must be as many as the outputs of forward, {values.shape[1]}, where observe is None; got {len(self.observed)}. "
                "Pass observe=point_values(grid, positions)."
            )
        whitened = (values - self.observed) @ self._whitening.mT
        return self._weighed(whitened, self.error(a)) if callable(self.error) else whitened

    def misfit(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n"]:
        """Φ(ξ) = ½ |residuals|²."""
        return self.residuals(xi).square().sum(-1) / 2

    @cached_property
    def _matrix(self) -> Tensor | None:
        return None if self.observe is None else self._tensor(self.observe)

    def _weighed(self, off: Float[Tensor, "n k"], error: Tensor) -> Float[Tensor, "n k+1"]:
        """(I + E)^(−½) off and √log det(I + E), for errors and E in deviations of the noise; NaN where E is no covariance."""
        count = len(self.observed)
        if error.shape != (len(off), count, count):
            raise RaffiaError(
                f"error must give a covariance of {count} observations for each of {len(off)} inputs, ({len(off)}, {count}, {count}); "
                f"got shape {tuple(error.shape)}."
            )
        whole = torch.eye(count).to(off) + self._whitening @ error.to(off) @ self._whitening.mT
        factor, failed = torch.linalg.cholesky_ex(whole)
        factor = torch.where((failed > 0)[:, None, None], torch.nan, factor)
        white = torch.linalg.solve_triangular(factor, off[..., None], upper=False)[..., 0]
        spread = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)
        return torch.cat([white, spread.clamp(min=1e-300).sqrt()], dim=-1)

    @cached_property
    def _error(self) -> Tensor:
        """That which is the same for all inputs."""
        return self._tensor(0.0 if self.error is None or callable(self.error) else self.error)

    @property
    def _covariance(self) -> Tensor:
        noise, error = self._tensor(self.noise).square().expand(len(self.observed)), self._error
        return torch.diag(noise) + (error if error.ndim == 2 else torch.diag(error.expand(len(noise))))

    @cached_property
    def _whitening(self) -> Float[Tensor, "k k"]:
        """Γ^(−½), the inverse of a Cholesky factor."""
        factor = torch.linalg.cholesky(self._covariance)
        return torch.linalg.solve_triangular(factor, torch.eye(len(factor)).to(factor), upper=False)

    def _tensor(self, values: float | Array) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float64, device=self.place)
