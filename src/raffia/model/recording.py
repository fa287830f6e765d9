"""What a trained operator does, written down as a graph of torch's operations: for any number of inputs, or on any grid too."""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.weak import WeakIdKeyDictionary

from raffia.errors import RaffiaError
from raffia.model.sizes import ROUNDING, Sizes, formula_of
from raffia.spaces.followed import tracing

COUNTS = (5, 7)
"""Numbers of inputs for which operations are written down, to see what depends on them."""


@dataclass(frozen=True)
class Place:
    """A tensor, by its number; the input has the first."""

    number: int


@dataclass(frozen=True, eq=False)
class Step:
    """An operation, what it takes, where its results go, whether they come of the input, and what they share memory with."""

    operation: Any
    taken: Any
    given: tuple[Place, ...]
    derived: bool
    shared: frozenset[Place]


class Recorder(TorchDispatchMode):
    """Writes down every operation."""

    def __init__(self, a: Tensor) -> None:
        super().__init__()
        self.places, self.steps = WeakIdKeyDictionary(), list[Step]()
        self.tensors: list[Any] = []
        """What does not come of the input; of what does, the shape."""
        self.derived = {self._place(a)}
        self.tensors[0] = a.shape

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do it, and write it down."""
        taken = tree_map(lambda part: self._place(part) if torch.is_tensor(part) else part, (list(args), kwargs or {}))
        values = func(*args, **kwargs or {})
        given = tuple(self._place(value) for value in tree_flatten(values)[0] if torch.is_tensor(value))
        parts = tree_flatten(taken)[0]
        derived = any(part in self.derived for part in parts if type(part) is Place)
        if derived and str(func).split(".")[1].endswith("_") and parts[0] not in self.derived:
            raise RaffiaError(f"a model that writes into tensors of its own, by {func}, cannot be exported.")
        if derived:
            self.derived |= set(given)
            for place in given:
                self.tensors[place.number] = self.shape(place)
        found = {_memory(value) for value in tree_flatten(values)[0] if torch.is_tensor(value)}
        taking = (part for part in tree_flatten((args, kwargs))[0] if torch.is_tensor(part))
        shared = frozenset(self._place(part) for part in taking if _memory(part) in found)
        self.steps.append(Step(func, taken, given, derived, shared))
        return values

    def shape(self, place: Place) -> Any:
        """That of a tensor."""
        kept = self.tensors[place.number]
        return kept.shape if torch.is_tensor(kept) else kept

    def _place(self, value: Tensor) -> Place:
        if value not in self.places:
            self.places[value] = Place(len(self.tensors))
            self.tensors.append(value)
        return self.places[value]


def recorded(
    values: Callable[[Tensor], Tensor], example: Callable[..., Tensor], rows: Sequence[Sizes] = ((COUNTS[0],), (COUNTS[1],))
) -> fx.GraphModule:
    """A module that does what `values` does with inputs such as `example(*sizes)`, whatever the sizes are; `rows` has some to try."""
    runs, grids = [], len(rows[0]) > 1
    for sizes in rows:
        a = example(*sizes)
        values(a)  # what is kept for later is made before
        with tracing(grids), torch.no_grad(), Recorder(a) as recorder:
            end = recorder.places[values(a)]
        runs.append(recorder)
    for run in runs[1:]:
        if [step.operation for step in runs[0].steps] != [step.operation for step in run.steps]:
            what = "on other grids, or " if grids else ""
            raise RaffiaError(f"a model that does other things {what}with other numbers of inputs cannot be exported.")
    return _Drawn(runs, rows).module(end)


class _Drawn:
    """The graph of what recordings have in common; where they differ, sizes depend on how many inputs there are, and on their grid."""

    def __init__(self, runs: list[Recorder], rows: Sequence[Sizes]) -> None:
        self.runs, self.rows, self.one = runs, rows, runs[0]
        self.root, self.graph = torch.nn.Module(), fx.Graph()
        a = self.graph.placeholder("a")
        self.nodes = {Place(0): a}
        self.unknown: dict[Place, str] = {}
        """Why there is no formula for some tensors; whoever needs one is refused."""
        axes = (0, *range(len(self.one.tensors[0]) - len(rows[0]) + 1, len(self.one.tensors[0])))
        self.sizes = [self.graph.call_function(torch.ops.aten.sym_size.int, (a, axis)) for axis in axes]
        self.depends = "how many inputs there are" if len(rows[0]) == 1 else "how many inputs there are, or on their grid"

    def module(self, end: Place) -> fx.GraphModule:
        """With the operations that come of the input, or of its sizes; all else is constants."""
        for steps in zip(*(run.steps for run in self.runs), strict=True):
            first = steps[0]
            if first.derived or any(self._differs(place) for place in first.given) or first.shared & self.nodes.keys():
                try:
                    self._add(steps)
                except RaffiaError as error:
                    self.unknown |= dict.fromkeys(first.given, str(error))
        self.graph.output(self._taken((end,), "its end"))
        self.graph.eliminate_dead_code()
        return fx.GraphModule(self.root, self.graph)

    def _differs(self, place: Place) -> bool:
        """Whether a tensor depends on sizes."""
        if any(run.shape(place) != self.one.shape(place) for run in self.runs):
            return True
        values = [run.tensors[place.number] for run in self.runs]
        return torch.is_tensor(values[0]) and any(not _equal(values[0], value) for value in values[1:])

    def _add(self, steps: tuple[Step, ...]) -> None:
        first = steps[0]
        shape = tree_flatten(first.taken)[1]
        parts = list(zip(*(tree_flatten(step.taken)[0] for step in steps), strict=True))
        viewed = str(first.operation) in ("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default")
        differing = [i for i, part in enumerate(parts) if any(other != part[0] for other in part)]
        if viewed and len(differing) == 1 and formula_of(parts[differing[0]], self.rows) is None:
            parts[differing[0]] = (-1,)  # whatever is left
        args, kwargs = tree_unflatten([self._taken(part, str(first.operation)) for part in parts], shape)
        node = self.graph.call_function(first.operation, tuple(args), kwargs)
        several = any(word in str(first.operation) for word in ("split", "unbind", "chunk")) or len(first.given) > 1
        for number, place in enumerate(first.given):
            self.nodes[place] = self.graph.call_function(operator.getitem, (node, number)) if several else node

    def _taken(self, values: tuple[Any, ...], name: str) -> Any:
        """A tensor of the graph, a constant, a number, or one that depends on sizes."""
        one = values[0]
        if type(one) is Place:
            if one in self.unknown:
                raise RaffiaError(self.unknown[one])
            return self.nodes[one] if one in self.nodes else self._constant(one, name)
        if all(value == one for value in values) or one != one or _rounding(values):
            return one
        formula = formula_of(values, self.rows)
        if formula is None:
            raise RaffiaError(f"a model whose numbers depend on {self.depends}, in {name}, cannot be exported.")
        return formula.node(self.graph, self.sizes)

    def _constant(self, place: Place, name: str) -> fx.Node:
        value = self.one.tensors[place.number]
        if self._differs(place):
            self.nodes[place] = self._made(place, name)
        else:
            self.root.register_buffer(f"constant{place.number}", value.detach().clone(memory_format=torch.contiguous_format))
            self.nodes[place] = self.graph.get_attr(f"constant{place.number}")
        return self.nodes[place]

    def _made(self, place: Place, name: str) -> fx.Node:
        """A few numbers that depend on sizes and come of no operation."""
        values = [run.tensors[place.number] for run in self.runs]
        if len({value.shape for value in values}) > 1 or values[0].numel() > 9 or not values[0].is_floating_point():
            raise RaffiaError(f"a model whose numbers depend on {self.depends}, in {name}, cannot be exported.")
        numbers = [self._taken(part, name) for part in zip(*(value.flatten().tolist() for value in values), strict=True)]
        tensors = [
            self.graph.call_function(torch.ops.aten.full.default, ([1], number), {"dtype": values[0].dtype})
            for number in numbers
        ]
        joined = self.graph.call_function(torch.ops.aten.cat.default, (tensors,))
        return self.graph.call_function(torch.ops.aten.reshape.default, (joined, list(values[0].shape)))


def _memory(value: Tensor) -> int:
    """Where the numbers of a tensor lie."""
    return value.untyped_storage().data_ptr()


def _rounding(values: tuple[Any, ...]) -> bool:
    """Whether numbers are one, up to rounding."""
    return all(type(value) is float for value in values) and all(math.isclose(v, values[0], rel_tol=ROUNDING) for v in values)


def _equal(one: Tensor, other: Tensor) -> bool:
    """Whether tensors of one shape are the same, up to rounding."""
    if not one.is_floating_point() and not one.is_complex():
        return torch.equal(one, other)
    return bool(((one - other).abs() <= ROUNDING * one.abs().max()).all()) if one.numel() else True
