"""Benchmark problems: an input measure ν and a solution operator F†, sampled on any grid."""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.measures import Measure
from raffia.measures.noise import Rows, as_rows
from raffia.problems.parameters import Count, check, check_parameters, check_regularity, has_several
from raffia.spaces import Domain, Grid, Space, resample

SAMPLES_AT_ONCE = 1024


class Problem(BaseEstimator, ABC):
    """A map F† between function spaces that can be sampled: outputs y = solve(a), inputs a ~ input_measure.

    A subclass defines `input_measure` and `solve`. The example of a whole one is `BridgeRegression`.

    Examples
    --------
    >>> from raffia.problems import Burgers, Problem
    >>> issubclass(Burgers, Problem)
    True
    """

    domain: Domain
    fine_points: int | None = None
    """How many points along an axis a solution needs at least, where grids that it is asked for on may be too coarse."""

    @property
    @abstractmethod
    def input_measure(self) -> Measure:
        """ν, the distribution of the inputs."""

    @abstractmethod
    def solve(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n *output"]:
        """F†(a_i), on the grid of a."""

    @property
    def space(self) -> Space:
        """The space of inputs and outputs: functions on the domain, unless they have several channels."""
        return self.domain

    def check_together(self) -> None:
        """Refuse parameters that do not go with one another."""
        check_regularity(self)

    def fine_grid(self, grid: Grid) -> Grid:
        """The grid on which data asked for on `grid` are drawn and solved: that one, or one that refines it to `fine_points` or more."""
        return grid if self.fine_points is None else refined(grid, self.fine_points)

    def dataset(self, n: Rows, points: int | tuple[int, ...] | None = None, seed: int = 0) -> Dataset:
        """Draw pairs of inputs and outputs on a grid.

        Pair i depends on the seed and on i only. It is drawn and solved on a fine grid, so it is the same pair on every grid.

        Parameters
        ----------
        n
            The number of pairs, or a range of their indices.
        points
            The number of points along each axis, or one number for each axis.
        seed
            The seed of the inputs.

        Returns
        -------
        Dataset
            Arrays `a` and `y` of shape (n, *grid), with channels before the grid if there are several.
        """
        check_parameters(self)
        target = grid_with(self.domain, points, type(self).__name__)
        fine, rows = self.fine_grid(target), as_rows(n, "n")
        inputs, outputs = [], []
        for start in range(rows.start, rows.stop, SAMPLES_AT_ONCE):
            part = range(start, min(start + SAMPLES_AT_ONCE, rows.stop))
            a = self.input_measure.sample(part, fine, seed)
            inputs.append(resample(a, fine, target))
            outputs.append(resample(self.solve(a), fine, target))
        return Dataset(torch.cat(inputs), torch.cat(outputs), self.space, self.settings(rows, target, seed))

    def settings(self, rows: range, grid: Grid, seed: int) -> dict[str, Any]:
        """What made the data, in words and numbers that a file can hold."""
        facts: dict[str, Any] = {"problem": type(self).__name__}
        for name, value in self.get_params(deep=False).items():
            facts[name] = value if isinstance(value, (int, float, str, tuple, type(None))) else repr(value)
        return facts | {"points": list(grid.shape), "seed": seed, "rows": [rows.start, rows.stop]}


def refined(grid: Grid, least: int) -> Grid:
    """A grid with `least` points or more along each axis that has all nodes of the given one."""
    shape = []
    for kind, points in zip(grid.domain.kinds, grid.shape, strict=True):
        intervals = kind.intervals(points)
        shape.append(kind.points(intervals * max(1, math.ceil(kind.intervals(least) / intervals))))
    return grid.domain.grid(*shape)


def check_tensor(a: object) -> None:
    """Refuse inputs of other kinds."""
    if not isinstance(a, Tensor):
        raise RaffiaError(f"a must be a torch tensor; got {type(a).__name__}. Pass torch.as_tensor(a).")


def grid_with(domain: Domain, points: Any, name: str) -> Grid:
    """The grid of so many points along each axis, on which `name` is asked for data."""
    if points is None and domain.dim > 0:
        raise RaffiaError(f"{name}.dataset needs points, the number of grid points along an axis, e.g. points=128.")
    if points is None or domain.dim == 0:
        return domain.grid()
    check("points", Count | tuple[Count, ...], points)
    return domain.grid(*points) if has_several(points) else domain.grid(points)
