"""A model under the name that clients call it by, on whatever grids they ask for."""

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
import torch

from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel

GRIDS = 8
"""Operators that are cached, those used last."""
DERIVATIVES = {"Gradient": "vjp", "ApplyJacobian": "jvp", "ApplyHessian": "hvp"}
"""What the protocol calls them, and what operators do."""


class Served:
    """A trained model that maps flat vectors to flat vectors. Everything but its name must be used by one thread at a time.

    `at(shape)` returns the operator for inputs on a grid of this shape; `at(None)` returns that for the training grid.
    """

    def __init__(self, name: str, model: RandomFeatureModel) -> None:
        self.name = name
        self.model = model
        self.at = lru_cache(GRIDS)(model.at)
        self.novelty = None if model.trained_.novelty is None else lru_cache(GRIDS)(self._novelty)
        self.support = {"Evaluate": True} | {call: self._can(call) for call in DERIVATIVES}

    def function(self, call: str, grid: tuple[int, ...] | None) -> Callable[..., np.ndarray]:
        """Return the function that answers a call of the protocol, such as "Evaluate", for batches of vectors."""
        operator = self.at(grid)
        return operator if call == "Evaluate" else getattr(operator, DERIVATIVES[call])

    def _novelty(self, grid: tuple[int, ...] | None) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that maps flat inputs (n, size) on a grid to their novelty (n, 1)."""
        shape = self.at(grid).input_grid.shape
        return lambda x: np.asarray(self.model.novelty(x.reshape(len(x), *shape)))[:, None]

    def _can(self, call: str) -> bool:
        """Return whether a call gives finite values at one input."""
        x, s = self.middle.reshape(1, -1), np.ones((1, self.at(None).output_size))
        arguments = {"Gradient": (x, s), "ApplyJacobian": (x, x), "ApplyHessian": (x, s, x)}[call]
        try:
            return bool(np.isfinite(self.function(call, None)(*arguments)).all())
        except RaffiaError:
            return False

    @cached_property
    def middle(self) -> np.ndarray:
        """A valid input: the mean of the training inputs, zero if it is unknown, or ones if the model refuses these."""
        frame = self.model.trained_.frame
        zero = torch.zeros(1, *frame.input_nodes.shape, dtype=torch.float64)
        mean = frame.input_scaling.undo(zero)[0].numpy()
        try:
            self.at(None)(mean.reshape(1, -1))
        except RaffiaError:
            return np.ones_like(mean)
        return mean

    @property
    def in_words(self) -> str:
        """One line with the shapes of inputs and outputs, and the calls that the model supports."""
        operator = self.at(None)
        sides = [" × ".join(map(str, nodes.shape)) or "1" for nodes in (operator.input_grid, operator.output_grid)]
        return f"{self.name}: {' → '.join(sides)} numbers; {', '.join(call for call, can in self.support.items() if can)}"
