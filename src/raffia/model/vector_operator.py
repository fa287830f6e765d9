"""A trained operator as a function of flat vectors, with derivatives, for optimisers, samplers and other programs."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure
from raffia.model.model_defaults import DEFAULTS
from raffia.model.operator import Operator, Posterior
from raffia.spaces import Nodes
from raffia.validation import as_tensor


class FlatOperator:
    """F: R^input_size → R^output_size maps the values of a function on a grid to those of the output, both flattened.

    With a `prior`, the input is the vector of whitened coordinates ξ instead.

    Arguments are float64: one vector (size,) or a batch (n, size). NumPy arrays give NumPy arrays. Tensors give tensors on the same
    device, which are differentiable. Large batches are evaluated in parts, so memory is bounded unless autograd records the operations.
    """

    def __init__(self, operator: Operator, grid: Any = None, prior: Any = None) -> None:
        self.operator = operator
        self.input_grid = _nodes(operator, grid)
        self.output_grid: Nodes = operator.frame.nodes_for(torch.zeros(1, *self.input_grid.shape, dtype=torch.float64))
        self.input_size, self._made = _expansion(prior, self.input_grid)
        self.output_size = self.output_grid.size

    def __call__(self, x: Any) -> Any:
        """F(x)."""
        return self._over(self._values, x=x)

    def deviation(self, x: Any) -> Any:
        """The standard deviations of the model's error bars, noise among them, at each value of F(x)."""
        return self._over(self._deviations, x=x)

    def function(self, x: Any) -> Any:
        """The input functions that vectors stand for, on `input_grid`: (*grid), or (n, *grid)."""
        values = self._over(lambda part: self._made(part).flatten(1), x=x)
        return values.reshape(*values.shape[:-1], *self.input_grid.shape)

    def vjp(self, x: Any, s: Any) -> Any:
        """Jᵀs with J = F'(x), of the length of the input."""
        return self._over(self._pulled, x=x, s=s)

    def jvp(self, x: Any, v: Any) -> Any:
        """Jv, of the length of the output."""
        return self._over(lambda x, v: torch.func.jvp(self._values, (x,), (v,))[1], x=x, v=v)

    def hvp(self, x: Any, s: Any, v: Any) -> Any:
        """The derivative of F'(x)ᵀs in the direction v, of the length of the input."""
        return self._over(lambda x, s, v: torch.func.jvp(lambda at: self._pulled(at, s), (x,), (v,))[1], x=x, s=s, v=v)

    def _values(self, x: Float[Tensor, "n size"]) -> Float[Tensor, "n values"]:
        return self.operator(self._made(x)).reshape(len(x), self.output_size)

    def _deviations(self, x: Float[Tensor, "n size"]) -> Float[Tensor, "n values"]:
        return self._posterior.std(self.operator.inputs(self._made(x))).reshape(len(x), self.output_size)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self.operator)

    def _pulled(self, x: Float[Tensor, "n size"], s: Float[Tensor, "n values"]) -> Float[Tensor, "n size"]:
        return torch.func.vjp(self._values, x)[1](s)[0]

    def _over(self, result: Callable[..., Tensor], **vectors: Any) -> Any:
        """Evaluate `result` for all rows of these vectors, a few rows at a time. The type is that of the first vector."""
        sizes = {"x": self.input_size, "v": self.input_size, "s": self.output_size}
        found = {name: _vectors(name, given, sizes[name]) for name, given in vectors.items()}
        if len({given.shape[:-1] for given in found.values()}) > 1:
            shapes = ", ".join(f"{name} of shape {tuple(given.shape)}" for name, given in found.items())
            raise RaffiaError(f"vectors must be one each, (size,), or batches of one length, (n, size); got {shapes}.")
        whole = [given.reshape(-1, given.shape[-1]) for given in found.values()]
        parts = zip(*(given.split(self._rows(given.device)) for given in whole), strict=True)
        values = torch.cat([result(*part) for part in parts])
        values = values if found["x"].ndim > 1 else values[0]
        return values.to(found["x"].device) if torch.is_tensor(vectors["x"]) else values.numpy(force=True)

    def _rows(self, device: torch.device) -> int:
        """The number of inputs whose features and derivatives fit into the memory limit of the model."""
        settings, frame = self.operator.settings, self.operator.frame
        features = settings.n_features if math.isfinite(settings.n_features) else len(self.operator.trained.solution.coef)
        values = (
            int(features) * frame.values_at(torch.empty(1, *self.input_grid.shape)).size + self.input_size + self.output_size
        )
        return max(1, settings.workspace(device).budget // (DEFAULTS.derivative_copies * values))


def _nodes(operator: Operator, grid: Any) -> Nodes:
    """The nodes of the inputs: those of training, given nodes, or a grid with given numbers of points."""
    frame = operator.frame
    if grid is None:
        return frame.input_nodes
    space, one = frame.input.one_channel, grid
    if not isinstance(grid, Nodes):
        shape = np.atleast_1d(np.asarray(grid))
        if not space.gridded or not space.ndim or shape.dtype.kind != "i" or shape.ndim > 1:
            raise RaffiaError(
                f"at(grid=…) must be Nodes of {space!r}, or where that is a line, a square or a cube, numbers of points; got {grid!r}."
            )
        one = space.grid(*shape.tolist())  # type: ignore[attr-defined]  # it is a Domain
    if one.one_channel.space != space:
        raise RaffiaError(
            f"at(grid=…) must be a grid of the inputs' space, {space!r}; got {grid!r}. model.on(space) is the model elsewhere."
        )
    return frame.input_nodes.with_channels(one.one_channel)


def _expansion(prior: Any, nodes: Nodes) -> tuple[int, Callable[[Tensor], Tensor]]:
    """The number of variables of a function on the nodes, and the map from variables to the function: its values, or ξ of a prior."""
    if prior is None:
        return nodes.size, lambda x: x.reshape(len(x), *nodes.shape)
    if not isinstance(prior, Measure):
        raise RaffiaError(f"at(prior=…) must be a GaussianField, or a Pushforward of one; got {prior!r}.")
    if nodes.has_components:
        raise RaffiaError(f"at(prior=…) is for inputs that are one function; got inputs on {nodes!r}.")
    return prior.expansion(nodes)


def _vectors(name: str, given: Any, size: int) -> Tensor:
    """One vector or a batch, checked."""
    tensor = as_tensor(name, given)
    if tensor.dtype != torch.float64 or tensor.ndim not in (1, 2) or tensor.shape[-1] != size:
        raise RaffiaError(
            f"{name} must be float64, of shape ({size},) or (n, {size}); got {str(tensor.dtype)[6:]} of shape {tuple(tensor.shape)}."
        )
    return tensor
