"""The Gaussian of the most probable unknown and of the curvature there, N(m, (I + H)⁻¹), H of low rank."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.inverse.linearised import Linearised
from raffia.inverse.problem import InverseProblem
from raffia.validation import check_count

MORE, LARGEST_RANK = 10, 200  # random directions beyond the rank that is asked for, and the rank where none is


@dataclass(frozen=True, eq=False)
class Laplace:
    """A Gaussian approximation of a posterior: N(m, (I + VᵀΛV)⁻¹) for ξ.

    The data reduce the variance along each row of V by the share Λ/(1 + Λ).

    Attributes
    ----------
    mean
        m, of shape (size,).
    values
        Λ, of shape (rank,).
    vectors
        V, of shape (rank, size).

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, laplace, maximum_a_posteriori
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> gaussian = laplace(problem, maximum_a_posteriori(problem).xi)
    >>> gaussian.draws(3).shape, gaussian.std(prior).shape
    (torch.Size([3, 8]), torch.Size([16]))
    """

    mean: Float[Tensor, "size"]
    values: Float[Tensor, "rank"]
    """Λ, the largest eigenvalues of the Hessian of the misfit, decreasing."""
    vectors: Float[Tensor, "rank size"]
    """V, orthonormal rows."""

    def __call__(self, eta: Float[Tensor, "n size"]) -> Float[Tensor, "n size"]:
        """ξ = m + (I + VᵀΛV)^(−½) η, which has this distribution if η ~ N(0, I)."""
        return self.mean + self._spread(eta)

    def inverse(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n size"]:
        """η of ξ."""
        off = xi - self.mean
        return off + (((1 + self.values).sqrt() - 1) * (off @ self.vectors.mT)) @ self.vectors

    def excess(self, eta: Float[Tensor, "n size"]) -> Float[Tensor, "n"]:
        """|ξ|²/2 − |η|²/2, written so that nothing in it grows with the number of coordinates."""
        along = eta @ self.vectors.mT
        reduction = (self.values / (1 + self.values) * along.square()).sum(-1)
        return self.mean.square().sum() / 2 + self._spread(eta) @ self.mean - reduction / 2

    def draws(self, count: int, seed: int = 0) -> Float[Tensor, "count size"]:
        """Independent draws of ξ."""
        check_count("count", count)
        generator = torch.Generator(self.mean.device).manual_seed(seed)
        size, dtype = len(self.mean), self.mean.dtype
        return self(torch.randn(count, size, generator=generator, device=self.mean.device, dtype=dtype))

    def std(self, of: Callable[[Tensor], Tensor]) -> Tensor:
        """The standard deviation of each number of of(ξ), the map linearised at m, so exact where it is affine, as `prior.field` is."""
        size = len(self.mean)
        jacobian = Linearised(of, self.mean, copies=size)
        shape = of(self.mean[None]).shape[1:]
        columns = jacobian @ torch.eye(size).to(self.mean)
        reduction = (self.values / (1 + self.values)).sqrt()[:, None] * (self.vectors @ columns)
        return (columns.square().sum(0) - reduction.square().sum(0)).clamp(min=0).sqrt().reshape(shape)

    def _spread(self, eta: Tensor) -> Tensor:
        return eta + (((1 + self.values).rsqrt() - 1) * (eta @ self.vectors.mT)) @ self.vectors


def laplace(problem: InverseProblem, xi: Float[Tensor, "size"], rank: int | None = None, seed: int = 0) -> Laplace:
    """Approximate the posterior by a Gaussian at the most probable ξ, with the Gauss–Newton Hessian JᵀJ of the misfit.

    Parameters
    ----------
    problem
        The inverse problem.
    xi
        The most probable ξ, of shape (size,), by `maximum_a_posteriori`.
    rank
        The number of eigenvectors of the Hessian; None is at most 200. There are no more than observations.
    seed
        The seed of the random directions by which they are computed.

    Returns
    -------
    Laplace
        The Gaussian; also the `reference` of `pcn`.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, laplace, maximum_a_posteriori
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> laplace(problem, maximum_a_posteriori(problem).xi).mean.shape
    torch.Size([8])
    """
    observations = len(problem.observed)
    rank = min(observations, problem.size, LARGEST_RANK) if rank is None else rank
    check_count("rank", rank)
    block = min(rank + MORE, problem.size)
    jacobian = Linearised(problem.residuals, xi, copies=block)
    generator = torch.Generator(xi.device).manual_seed(seed)
    directions = torch.randn(block, problem.size, generator=generator, device=xi.device, dtype=torch.float64)
    for _ in range(2):
        directions = torch.linalg.qr(jacobian.transposed(jacobian @ directions).mT).Q.mT
    left, singular, _ = torch.linalg.svd(jacobian @ directions, full_matrices=False)
    kept = singular[:rank].square() > 0
    return Laplace(xi.detach(), singular[:rank].square()[kept], (left.mT @ directions)[:rank][kept])
