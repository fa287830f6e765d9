"""The derivative J of a map at a point, as products with blocks of vectors, by reverse mode alone."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError


class Linearised:
    """J of a map of batches at one point, for blocks of `copies` vectors at once.

    J v is the derivative of z ↦ Jᵀz, which is linear, so reverse mode twice gives it: every map that torch can differentiate will do.
    """

    def __init__(self, f: Callable[[Tensor], Tensor], x: Float[Tensor, "size"], copies: int = 1) -> None:
        with torch.enable_grad():
            self._x = x.detach().expand(copies, -1).clone().requires_grad_()
            self._values = f(self._x).flatten(1)
            if not self._values.requires_grad:
                raise RaffiaError(
                    "derivatives need a forward map that torch can differentiate; its outputs do not depend on its inputs through "
                    "torch. Keep NumPy, detach and no_grad out of it, or use pcn, which needs no derivatives."
                )
            self._dual = torch.zeros_like(self._values, requires_grad=True)
            (self._pulled,) = torch.autograd.grad(self._values, self._x, self._dual, create_graph=True)

    @property
    def value(self) -> Float[Tensor, "outputs"]:
        """f(x)."""
        return self._values[0].detach()

    def __matmul__(self, v: Float[Tensor, "copies size"]) -> Float[Tensor, "copies outputs"]:
        """J v for each row."""
        return torch.autograd.grad(self._pulled, self._dual, v, retain_graph=True)[0]

    def transposed(self, w: Float[Tensor, "copies outputs"]) -> Float[Tensor, "copies size"]:
        """Jᵀw for each row."""
        return torch.autograd.grad(self._values, self._x, w, retain_graph=True)[0]
