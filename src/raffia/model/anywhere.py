"""A graph of what a trained operator does that serves all grids which are fine enough."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, fx

from raffia.errors import RaffiaError
from raffia.model.operator import Operator
from raffia.model.recording import COUNTS, recorded
from raffia.model.sizes import design

ALLOWED = 1e-12
START = 8
"""Points along an axis that are tried first, where the training had fewer."""
MOST = 2**13
"""Points of a grid, beyond which no finer one is tried."""
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Anywhere:
    """A graph, a shape of inputs that it serves, the least such shape, and some on which it is worth comparing with predictions."""

    graph: fx.GraphModule
    first: Shape
    least: Shape
    compared: tuple[Shape, ...]
    axes: int
    """How many of the last axes count points."""


def anywhere(predict: Operator) -> Anywhere:
    """A graph that agrees with predictions on all grids from some number of points on, along each axis; where there is none, an error.

    It is written down on grids that hold all that features are made of: finer ones then differ in sizes alone.
    """
    nodes = predict.frame.input_nodes
    if not nodes.one_channel.space.gridded or not nodes.one_channel.shape:
        raise RaffiaError(f"export(grid='any') is for inputs on grids; these are on {nodes!r}, which is one discretisation.")
    one = nodes.one_channel.shape
    points, channels = tuple(max(START, count) for count in one), nodes.shape[: len(nodes.shape) - len(one)]
    while True:
        try:
            return _written(predict, points, channels)
        except RaffiaError as error:
            points = tuple(2 * count for count in points)
            if math.prod(points) > MOST:
                raise RaffiaError(f"this model can be written for one grid at a time, not for any: {error}") from error


def _written(predict: Operator, points: Shape, channels: Shape) -> Anywhere:
    """Around so many points along each axis."""

    def example(n: int, *points: int) -> Tensor:
        return torch.ones(n, *channels, *points, dtype=torch.float64)

    rows = design((COUNTS[0], *points), [(COUNTS[1] - COUNTS[0],), *[(1, 2)] * len(points)])
    graph = recorded(predict, example, rows)

    def agrees(points: Shape) -> bool:
        return _agrees(predict, graph, (*channels, *points))

    finer = [tuple(2 * count + 1 + axis for axis, count in enumerate(points)), tuple(count + 3 for count in points)]
    if not all(map(agrees, [points, *finer])):
        raise RaffiaError("what it does on some grids is not what it does on finer ones.")
    least = tuple(
        _least(lambda few, axis=axis: agrees((*points[:axis], few, *points[axis + 1 :])), count)  # type: ignore[misc]
        for axis, count in enumerate(points)
    )
    if not agrees(least) or not agrees(tuple(count + 1 for count in least)):
        least = points
    return Anywhere(
        graph, (*channels, *points), (*channels, *least), tuple((*channels, *shape) for shape in (points, *finer)), len(points)
    )


def _least(agrees: Callable[[int], bool], most: int) -> int:
    """The fewest points, of those up to `most` which serve."""
    low, high = 0, most  # low does not serve
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if agrees(middle) and agrees(middle + 1) else (middle, high)
    return high


def _agrees(predict: Operator, graph: fx.GraphModule, shape: Shape) -> bool:
    """Whether predictions on a grid are what the graph gives."""
    a = 0.5 + torch.rand(2, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    try:
        wanted, found = predict(a), graph(a)
    except (RaffiaError, RuntimeError, IndexError):  # too few points for what is done with them
        return False
    return wanted.shape == found.shape and bool((found - wanted).abs().max() <= ALLOWED * wanted.abs().max())
