"""One draw of an objective for modal coefficients: a small regression in every mode, to be differentiated."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Inexact
from torch import Tensor

from raffia.regression import ONES, gains_of, root_mean_squares
from raffia.spaces import Modes, Nodes


@dataclass(frozen=True, eq=False)
class ModalSample:
    """Conjugate features and targets of every mode; the ridge of a mode is λ_k = ridge · tr(G_k)/m."""

    V: Inexact[Tensor, "blocks p n"]
    Y: Inexact[Tensor, "blocks n columns"]
    twice: Float[Tensor, "blocks"]
    sizes: Float[Tensor, "n"]
    """What errors are relative to."""
    n_features: int

    @classmethod
    def of(cls, phi: Tensor, a: Tensor, y: Tensor, modes: Modes, nodes: Nodes, sizes: Tensor) -> "ModalSample":
        """From features (n, m, *grid), inputs and outputs on these nodes, where the modes are numbered."""
        own = a.reshape(len(a), -1, *nodes.shape).to(phi)
        V = modes.analysis(torch.cat([phi, own], dim=1), nodes).permute(2, 1, 0).conj().resolve_conj()
        Y = modes.analysis(y.reshape(len(y), -1, *nodes.shape), nodes).permute(2, 0, 1)
        usual = root_mean_squares(V[:, : phi.shape[1]].flatten(1).mT)
        gains = gains_of(usual, modes.twice(nodes).to(usual), nodes.norm(own).square().mean(0).sqrt())
        V = torch.cat([V[:, : phi.shape[1]], gains.to(V)[:, None] * V[:, phi.shape[1] :]], dim=1)
        ones = ONES * math.sqrt(phi.shape[1]) * usual.to(V)[:, None, None]
        V = torch.cat([V, ones.expand(-1, 1, V.shape[2])], dim=1)
        return cls(V, Y, modes.twice(nodes).to(a), sizes, phi.shape[1])

    def held_out(self, held: slice, ridge: Any) -> Tensor | None:
        """The mean relative error on some samples of the model trained on those after them; None if a factorisation fails."""
        V, Y = self.V[:, :, held.stop :], self.Y[:, held.stop :]
        solved = self._solved(V, Y, ridge)
        return None if solved is None else self._error(self.V[:, :, held].mH @ solved / self.n_features - self.Y[:, held], held)

    def _solved(self, V: Tensor, Y: Tensor, ridge: Any) -> Tensor | None:
        """α(k), by the smaller of the two systems."""
        few = V.shape[2] < V.shape[1]
        matrix = (V.mH @ V if few else V @ V.mH) / self.n_features
        factor, failed = torch.linalg.cholesky_ex(_shifted(matrix, self._shift(V, ridge)))
        if failed.any():
            return None
        return V @ torch.cholesky_solve(Y, factor) if few else torch.cholesky_solve(V @ Y, factor)

    def _shift(self, V: Tensor, ridge: Any) -> Float[Tensor, "blocks"]:
        return ridge * V[:, : self.n_features].abs().square().sum((1, 2)) / self.n_features**2

    def _error(self, wrong: Tensor, which: slice) -> Tensor:
        squares = (self.twice[:, None, None] * (wrong.real.square() + (wrong.imag.square() if wrong.is_complex() else 0))).sum(
            (0, 2)
        )
        return (squares.sqrt() / self.sizes[which]).mean()


def _shifted(matrix: Tensor, shift: Tensor) -> Tensor:
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return matrix + shift[:, None, None] * eye
