"""What a trained operator does, written down as a graph of torch's operations: on one grid, for any number of inputs."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from raffia.errors import RaffiaError
from raffia.spaces.followed import tracing

COUNTS = (5, 7)
"""Numbers of inputs for which operations are written down, to see what depends on them."""


@dataclass(frozen=True)
class Place:
    """A tensor, by its number; the input has the first."""

    number: int


@dataclass(frozen=True, eq=False)
class Step:
    """An operation, what it takes, where its results go, and whether they come of the input."""

    operation: Any
    taken: Any
    given: tuple[Place, ...]
    derived: bool


class Recorder(TorchDispatchMode):
    """Writes down every operation."""

    def __init__(self, a: Tensor) -> None:
        super().__init__()
        self.tensors, self.places, self.steps = [a], {id(a): Place(0)}, list[Step]()
        self.derived = {Place(0)}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do it, and write it down."""
        taken = tree_map(lambda part: self._place(part) if torch.is_tensor(part) else part, (list(args), kwargs or {}))
        values = func(*args, **kwargs or {})
        given = tuple(self._place(value) for value in tree_flatten(values)[0] if torch.is_tensor(value))
        parts = tree_flatten(taken)[0]
        derived = any(part in self.derived for part in parts if type(part) is Place)
        if derived and str(func).split(".")[1].endswith("_") and parts[0] not in self.derived:
            raise RaffiaError(f"a model that writes into tensors of its own, by {func}, cannot be exported.")
        self.derived |= set(given) if derived else set()
        self.steps.append(Step(func, taken, given, derived))
        return values

    def _place(self, value: Tensor) -> Place:
        if id(value) not in self.places:
            self.places[id(value)] = Place(len(self.tensors))
            self.tensors.append(value)  # alive, as it is known by where it lies
        return self.places[id(value)]


def recorded(values: Callable[[Tensor], Tensor], example: Callable[[int], Tensor]) -> fx.GraphModule:
    """A module that does what `values` does with inputs such as `example(n)`, whatever n is."""
    runs = []
    for count in COUNTS:
        a = example(count)
        values(a)  # what is kept for later is made before
        with tracing(), torch.no_grad(), Recorder(a) as recorder:
            end = recorder.places[id(values(a))]
        runs.append(recorder)
    if [step.operation for step in runs[0].steps] != [step.operation for step in runs[1].steps]:
        raise RaffiaError("a model that does other things with other numbers of inputs cannot be exported.")
    return _Drawn(*runs).module(end)


class _Drawn:
    """The graph of what two recordings have in common; where they differ, sizes depend on how many inputs there are."""

    def __init__(self, one: Recorder, other: Recorder) -> None:
        self.one, self.other = one, other
        self.root, self.graph = torch.nn.Module(), fx.Graph()
        self.nodes = {Place(0): self.graph.placeholder("a")}
        self.count = self.graph.call_function(torch.ops.aten.sym_size.int, (self.nodes[Place(0)], 0))

    def module(self, end: Place) -> fx.GraphModule:
        """With the operations that come of the input, or of how many there are; all else is constants."""
        for one, other in zip(self.one.steps, self.other.steps, strict=True):
            if one.derived or any(self._differs(place) for place in one.given):
                self._add(one, other)
        self.graph.output(self.nodes[end])
        self.graph.eliminate_dead_code()
        return fx.GraphModule(self.root, self.graph)

    def _differs(self, place: Place) -> bool:
        return self.one.tensors[place.number].shape != self.other.tensors[place.number].shape

    def _add(self, one: Step, other: Step) -> None:
        flat, shape = tree_flatten(one.taken)
        parts = zip(flat, tree_flatten(other.taken)[0], strict=True)
        args, kwargs = tree_unflatten([self._taken(*pair, str(one.operation)) for pair in parts], shape)
        node = self.graph.call_function(one.operation, tuple(args), kwargs)
        several = any(word in str(one.operation) for word in ("split", "unbind", "chunk")) or len(one.given) > 1
        for number, place in enumerate(one.given):
            self.nodes[place] = self.graph.call_function(operator.getitem, (node, number)) if several else node

    def _taken(self, one: Any, other: Any, name: str) -> Any:
        """A tensor of the graph, a constant, a number, or one that depends on how many inputs there are."""
        if type(one) is Place:
            return self.nodes[one] if one in self.nodes else self._constant(one, name)
        if one == other or one != one:
            return one
        slope, rest = divmod(other - one, COUNTS[1] - COUNTS[0])
        if rest:
            raise RaffiaError(f"a model whose numbers depend on how many inputs there are, in {name}, cannot be exported.")
        several = self.graph.call_function(operator.mul, (self.count, slope))
        return self.graph.call_function(operator.add, (several, one - COUNTS[0] * slope))

    def _constant(self, place: Place, name: str) -> fx.Node:
        value, other = (run.tensors[place.number] for run in (self.one, self.other))
        if value.shape != other.shape or not torch.equal(value, other):
            raise RaffiaError(f"a model whose numbers depend on how many inputs there are, in {name}, cannot be exported.")
        self.root.register_buffer(f"constant{place.number}", value.detach().clone(memory_format=torch.contiguous_format))
        self.nodes[place] = self.graph.get_attr(f"constant{place.number}")
        return self.nodes[place]
