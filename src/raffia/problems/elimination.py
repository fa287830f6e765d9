"""Block elimination for the five-point stencil: many small elliptic problems at once, without iterations."""

import torch
from jaxtyping import Float
from torch import Tensor


def eliminate(
    f: Float[Tensor, "rows columns"], c1: Float[Tensor, "n rows+1 columns"], c2: Float[Tensor, "n rows columns+1"]
) -> Float[Tensor, "n rows columns"]:
    """u at the inner nodes of a grid, 0 on its boundary, from which fluxes c · (differences of u) between neighbours carry away f.

    The matrix is block tridiagonal, a block for each row of nodes: D_i on the diagonal, and −diag(b_i), b_i = c1[:, i], between rows
    i − 1 and i. With S_i = D_i − diag(b_i) S_{i−1}⁻¹ diag(b_i) and g_i = f_i + b_i S_{i−1}⁻¹ g_{i−1} it is
    u_i = S_i⁻¹ (g_i + b_{i+1} u_{i+1}). The S_i are symmetric and positive definite, so no pivots between blocks are needed. All problems
    of the batch take each step together. Differentiable.
    """
    if c1.shape[1] - 1 < c1.shape[2]:  # blocks along the shorter axis
        return eliminate(f.mT, c2.mT, c1.mT).mT
    across = c2[:, :, 1:-1]
    diagonal = torch.diag_embed(c1[:, :-1] + c1[:, 1:] + c2[:, :, :-1] + c2[:, :, 1:])
    blocks = (diagonal - torch.diag_embed(across, 1) - torch.diag_embed(across, -1)).unbind(1)
    between, right = c1[:, 1:-1].unbind(1), f.expand(len(c1), *f.shape).unbind(1)
    inverses, sums = [torch.linalg.inv_ex(blocks[0]).inverse], [right[0]]
    for block, b, row in zip(blocks[1:], between, right[1:], strict=True):
        sums.append(row + b * _times(inverses[-1], sums[-1]))
        inverses.append(torch.linalg.inv_ex(block - b[:, :, None] * inverses[-1] * b[:, None, :]).inverse)
    u = [_times(inverses.pop(), sums.pop())]
    for b in reversed(between):
        u.append(_times(inverses.pop(), sums.pop() + b * u[-1]))
    return torch.stack(u[::-1], 1)


def _times(matrix: Float[Tensor, "n k k"], vector: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    return (matrix @ vector[..., None])[..., 0]
