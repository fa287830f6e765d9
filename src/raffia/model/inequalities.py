"""Inequalities at collocation points as linear inequalities for the coefficients."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.constraints import Collocation
from raffia.errors import RaffiaError
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.regression import Bounds, Contradiction, NormalEquations, Solution, bounded_solution
from raffia.spaces import POINT


def bounded(settings: Settings, pairs: Prepared, equations: NormalEquations, ridge: float) -> Solution:
    """The coefficients of the least sum of squares that satisfy the inequalities of a model for these inputs, in training units."""
    _check(settings, pairs.frame)
    inequalities = settings.inequalities
    parts = [
        _bounds(settings, pairs.frame, one.collocation(pairs.inputs, pairs.frame.output_nodes), number)
        for number, one in enumerate(inequalities)
    ]
    bounds = Bounds(*(torch.cat([getattr(part, name) for part in parts]) for name in Bounds.__dataclass_fields__))
    try:
        solution, multipliers = bounded_solution(equations, ridge, bounds)
    except Contradiction:
        equalities = f", where {' and '.join(map(str, pairs.frame.equalities))} holds" if pairs.frame.equalities else ""
        raise RaffiaError(
            f"constraints: no coefficients satisfy {' and '.join(map(str, inequalities))} at all collocation points{equalities}. They "
            "contradict one another, or the features cannot reach these bounds: drop one, widen its bounds, or take more features."
        ) from None
    words = []
    for number, one in enumerate(inequalities):
        mine = bounds.source == number
        tight = int((multipliers[mine] != 0).sum())
        words.append(
            f"{one.in_words}: at {int(mine.sum())} points of the training inputs alone, with equality at {tight} ({one})"
        )
    return replace(solution, guarantees=tuple(words))


def _bounds(settings: Settings, frame: Frame, points: Collocation, number: int) -> Bounds:
    rows, column, known = _at(settings, frame, points.inputs, points.sample, points.element)
    if points.less_sample is not None and points.less_element is not None:
        others, column_of_others, known_there = _at(settings, frame, points.inputs, points.less_sample, points.less_element)
        if not torch.equal(column, column_of_others):
            raise RaffiaError(
                f"constraints: {settings.inequalities[number]} compares values at different nodes, and with scalar features each "
                "node has coefficients of its own. Use features that are functions, such as FourierFeatures."
            )
        rows, known = rows - others, known - known_there
    return Bounds(rows, column, points.low - known, points.high - known, torch.full_like(column, number))


def _at(
    settings: Settings, frame: Frame, inputs: Tensor, sample: Tensor, element: Tensor
) -> tuple[Float[Tensor, "p m"], Int[Tensor, "p"], Float[Tensor, "p"]]:
    """Rows, columns and constants with F(a_i)_e = row · α_column + constant, in the units of the data, for samples i and elements e."""
    used, position = sample.unique(return_inverse=True)
    inputs, nodes = inputs[used.to(inputs.device)], frame.output_nodes
    one = nodes.one_channel
    known = frame.in_units(torch.zeros(len(inputs), *nodes.shape).to(inputs), inputs).reshape(len(inputs), -1)
    scale = frame.output_scaling.stretch(torch.ones(nodes.shape, dtype=torch.float64)).flatten()
    values = frame.values_at(inputs)
    numbers = values == POINT
    root = (nodes if numbers else one).root_weights
    node, column = (torch.zeros_like(element), element) if numbers else (element % one.size, element // one.size)
    weight = root.expand(element.shape) if root.numel() == 1 else root[element if numbers else node]
    rows = _features(settings, frame, inputs, position, node)
    factor = (scale[element] / weight / int(settings.n_features)).to(rows)
    return rows * factor[:, None], column.to(rows.device), known[position, element].to(rows)


def _features(settings: Settings, frame: Frame, inputs: Tensor, position: Tensor, node: Tensor) -> Float[Tensor, "p m"]:
    """Embedded features of the inputs `position` at nodes, a batch of inputs at a time."""
    nodes = frame.output_nodes
    stream = settings.stream(inputs, nodes, frame.values_at(inputs))
    size, first = stream.values_at(inputs).size, 0
    found = torch.empty(len(position), len(stream.theta), dtype=torch.float64, device=stream.theta.device)
    for rows, _ in stream.blocks(inputs, torch.zeros(len(inputs), *nodes.shape).to(inputs)):
        count = rows.shape[1] // size
        here = (position >= first) & (position < first + count)
        found[here] = rows.mT[((position - first) * size + node)[here].to(rows.device)]
        first += count
    return found


def _check(settings: Settings, frame: Frame) -> None:
    """Refuse equalities that mix columns of coefficients, whose values inequalities cannot bound."""
    mixing = [one for one in frame.equalities if frame.values == POINT or not one.channelwise]
    if mixing:
        raise RaffiaError(
            f"constraints: {mixing[0]} changes predictions after the features have been summed, so {settings.inequalities[0]} cannot "
            "be imposed as well. Drop one of them, or use features that are functions and equalities for all channels."
        )
