"""The operations of a batched function as an `fx` graph, for any number of rows.

Rows are mapped by `torch.func.vmap`, so the function sees one row. It is run on two batches: what does not depend on the rows becomes
a constant of the graph, and sizes that differ between the two runs are multiples of the number of rows.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.weak import WeakIdKeyDictionary

from raffia.errors import RaffiaError
from raffia.model.model_defaults import ROWS

VIEWS = ("aten.view.default", "aten._unsafe_view.default")


@dataclass(frozen=True)
class Key:
    """The index of a tensor in the order of a recording; the batch has index 0."""

    index: int


class Recorder(TorchDispatchMode):
    """Runs operations and records them in order."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = WeakIdKeyDictionary()
        self.shapes = list[torch.Size]()
        self.constants = dict[Key, Tensor]()
        """Tensors that do not depend on the batch."""
        self.calls = list[tuple[Any, Any, list[Key], bool]]()
        """Operations, arguments with keys for tensors, keys of results, and whether several results were returned."""

    def key(self, tensor: Tensor, constant: bool) -> Key:
        """The key of a tensor, a new one if it has none."""
        if tensor not in self.keys:
            self.keys[tensor] = Key(len(self.shapes))
            self.shapes.append(tensor.shape)
            if constant:
                self.constants[self.keys[tensor]] = tensor
        return self.keys[tensor]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and record it."""
        given = tree_map(lambda part: self.key(part, True) if torch.is_tensor(part) else part, (list(args), kwargs or {}))
        results = func(*args, **kwargs or {})
        constant = all(part in self.constants for part in tree_flatten(given)[0] if type(part) is Key)
        keys = [self.key(result, constant) for result in tree_flatten(results)[0] if torch.is_tensor(result)]
        self.calls.append((func, given, keys, not torch.is_tensor(results)))
        return results


def record(function: Callable[[Tensor], Tensor], example: Callable[[int], Tensor]) -> fx.GraphModule:
    """The graph of a function of batches such as `example(rows)`."""
    runs, end = [], Key(0)
    batched = torch.func.vmap(lambda row: function(row[None])[0])
    for rows in ROWS:
        batch = example(rows)
        try:
            batched(batch)  # fills caches, so that both recordings find them filled
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:300]
            raise RaffiaError(
                f"export maps a model over inputs by torch.func.vmap, which this one does not allow: {reason}"
            ) from error
        with torch.no_grad(), Recorder() as recorder:
            recorder.key(batch, constant=False)
            end = recorder.key(batched(batch), constant=True)
        runs.append(recorder)
    if [call[0] for call in runs[0].calls] != [call[0] for call in runs[1].calls]:
        raise RaffiaError("a model whose operations depend on the number of inputs cannot be exported.")
    return _Builder(*runs).module(end)


class _Builder:
    """Builds the graph that two recordings have in common."""

    def __init__(self, one: Recorder, other: Recorder) -> None:
        self.one, self.other = one, other
        self.root, self.graph = torch.nn.Module(), fx.Graph()
        self.nodes = {Key(0): self.graph.placeholder("a")}
        self.buffers = dict[Key, fx.Node]()
        self.rows = self.graph.call_function(torch.ops.aten.sym_size.int, (self.nodes[Key(0)], 0))

    def module(self, end: Key) -> fx.GraphModule:
        """The operations that depend on the rows or on their number; other tensors are constants."""
        for (function, given, keys, several), (_, given_other, _, _) in zip(self.one.calls, self.other.calls, strict=True):
            leaves, structure = tree_flatten(given)
            pairs = [*zip(leaves, tree_flatten(given_other)[0], strict=True)]
            batched = any(leaf in self.nodes for leaf in leaves if type(leaf) is Key)
            if batched or any(self.one.shapes[key.index] != self.other.shapes[key.index] for key in keys):
                args, kwargs = tree_unflatten([self._argument(*pair, str(function)) for pair in pairs], structure)
                operation = torch.ops.aten.reshape.default if str(function) in VIEWS else function  # constants may be copied
                node = self.graph.call_function(operation, tuple(args), kwargs)
                for number, key in enumerate(keys):
                    self.nodes[key] = self.graph.call_function(operator.getitem, (node, number)) if several else node
        self.graph.output(self._argument(end, end, "the output"))
        self.graph.eliminate_dead_code()
        return fx.GraphModule(self.root, self.graph)

    def _argument(self, one: Any, other: Any, name: str) -> Any:
        """A node, a constant, or a multiple of the number of rows."""
        if type(one) is Key:
            return self.nodes.get(one) or self._constant(one)
        if one == other or one != one:
            return one
        if type(one) is not int or one * ROWS[1] != other * ROWS[0]:
            raise RaffiaError(f"a model with values that depend on the number of inputs, in {name}, cannot be exported.")
        return self.graph.call_function(operator.mul, (self.rows, one // ROWS[0]))

    def _constant(self, key: Key) -> fx.Node:
        if key not in self.buffers:
            self.root.register_buffer(f"constant{key.index}", self.one.constants[key].detach().clone())
            self.buffers[key] = self.graph.get_attr(f"constant{key.index}")
        return self.buffers[key]
