"""Models for programs without raffia: a `torch.export` program or an ONNX file, for one grid and any number of inputs.

Rows are mapped by `torch.func.vmap`, so the recorded function sees one row. It is run on two batches: what does not depend on the rows
becomes a constant of the graph, and sizes that differ between the two runs are multiples of the number of rows.
"""

import io
import logging
import math
import operator
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.weak import WeakIdKeyDictionary

from raffia.errors import RaffiaError
from raffia.model.model_defaults import DEFAULTS
from raffia.model.operator import Operator
from raffia.model.vector_operator import FlatOperator
from raffia.storage import archive, atomic

TESTED = (1, 64)
"""Batch sizes for which the exported program is compared with the model."""
ALLOWED = {".pt2": 1e-12, ".onnx": 1e-6}
"""The largest difference allowed, relative to the largest prediction."""
Predict = Callable[[Tensor], Tensor]


def export(operator: Operator, path: archive.Path, grid: Any = None) -> float:
    """Write a program that predicts on one grid.

    Parameters
    ----------
    operator : Operator
        The trained operator.
    path : path
        The file to write: `.pt2` for `torch.export`, in float64; `.onnx` for ONNX, float32 in and out and float64 inside.
    grid : Grid, int or tuple of int, optional
        The grid of the inputs; the training grid by default.

    Returns
    -------
    float
        The largest difference to the model's predictions, relative to the largest of them.

    Raises
    ------
    RaffiaError
        If the model cannot be exported, or if the difference is larger than 1e-12 (`.pt2`) or 1e-6 (`.onnx`).
    """
    suffix = Path(path).suffix
    if suffix not in ALLOWED:
        raise RaffiaError(f"export writes .pt2, a torch.export program, and .onnx; got {str(path)!r}.")
    shape, predict = FlatOperator(operator, grid).input_grid.shape, operator.moved(torch.device("cpu"))
    content, run = _onnx(predict, shape) if suffix == ".onnx" else _program(predict, shape)
    difference = max(_difference(predict, run, rows, shape, suffix) for rows in TESTED)
    if not difference <= ALLOWED[suffix]:
        raise RaffiaError(
            f"the exported program differs from the model by {difference:.1e}, more than {ALLOWED[suffix]:g}: {path} was not written."
        )
    with atomic(path) as temporary:
        Path(temporary).write_bytes(content)
    return difference


def _difference(predict: Predict, run: Predict, rows: int, shape: tuple[int, ...], suffix: str) -> float:
    """The largest difference for random inputs between 0.5 and 1.5, relative to the largest prediction."""
    generator = torch.Generator().manual_seed(rows)
    a = 0.5 + torch.rand(rows, *shape, dtype=torch.float64, generator=generator)
    a = a.float() if suffix == ".onnx" else a
    expected = predict(a.double())
    return float((run(a).double() - expected).abs().max() / expected.abs().max().clamp(min=1e-300))


def _exported(function: Predict, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    """The `torch.export` program of a function, for any number of rows."""
    graph = record(function, lambda rows: torch.ones(rows, *shape, dtype=dtype))
    example = torch.ones(DEFAULTS.rows[0], *shape, dtype=dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = torch.export.Dim("n", min=1)
            return torch.export.export(graph, (example,), dynamic_shapes=({0: rows},), strict=False)
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise RaffiaError(f"torch.export cannot write this model for any number of inputs: {reason}") from error


def _program(predict: Predict, shape: tuple[int, ...]) -> tuple[bytes, Predict]:
    program = _exported(predict, shape, torch.float64)
    content = io.BytesIO()
    torch.export.save(program, content)
    return content.getvalue(), program.module()


def _onnx(predict: Predict, shape: tuple[int, ...]) -> tuple[bytes, Predict]:
    """Single precision in and out, double inside: coefficients of features cancel more digits than single precision has."""
    try:
        runtime = [import_module(name) for name in ("onnxscript", "onnxruntime")][1]
    except ImportError as error:
        raise RaffiaError(f"ONNX needs packages that do not import ({error}): pip install 'raffia[export]'.") from error
    program = _exported(lambda a: predict(a.double()).float(), shape, torch.float32)
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)  # the exporter logs its steps
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            decomposed = program.run_decompositions(DECOMPOSITIONS)
            written: Any = torch.onnx.export(decomposed, dynamo=True, verbose=False)
            content = written.model_proto.SerializeToString()
            session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = str(cause).splitlines()[0]
        raise RaffiaError(f"ONNX or its runtime lacks an operation of this model ({reason}): export it as .pt2.") from error
    finally:
        logging.disable(level)
    name = session.get_inputs()[0].name
    return content, lambda a: torch.from_numpy(session.run(None, {name: a.numpy()})[0])


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
    for rows in DEFAULTS.rows:
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
        if type(one) is not int or one * DEFAULTS.rows[1] != other * DEFAULTS.rows[0]:
            raise RaffiaError(f"a model with values that depend on the number of inputs, in {name}, cannot be exported.")
        return self.graph.call_function(operator.mul, (self.rows, one // DEFAULTS.rows[0]))

    def _constant(self, key: Key) -> fx.Node:
        if key not in self.buffers:
            self.root.register_buffer(f"constant{key.index}", self.one.constants[key].detach().clone())
            self.buffers[key] = self.graph.get_attr(f"constant{key.index}")
        return self.buffers[key]


aten = torch.ops.aten


def _by_parts(operation: Any) -> Callable[..., Any]:
    """Apply an operation to the real and to the imaginary parts of complex tensors."""

    def decomposed(z: Tensor, *rest: Any, **options: Any) -> Any:
        if not z.is_complex():
            return NotImplemented
        halves = ([_part(value, index) for value in (z, *rest)] for index in range(2))
        return torch.complex(*(operation(*half, **options) for half in halves))

    return decomposed


def _part(value: Any, index: int) -> Any:
    return torch.view_as_real(value)[..., index] if torch.is_tensor(value) and value.is_complex() else value


def _product(operation: Any) -> Callable[..., Any]:
    """A product of complex matrices by products of real ones."""

    def decomposed(z: Tensor, w: Tensor) -> Any:
        if not z.is_complex():
            return NotImplemented
        (a, b), (c, d) = ((_part(value, 0), _part(value, 1)) for value in (z, w))
        return torch.complex(operation(a, c) - operation(b, d), operation(a, d) + operation(b, c))

    return decomposed


def _zeros(z: Tensor, **_: Any) -> Any:
    zeros = torch.zeros(z.shape, dtype=torch.float64)
    return torch.complex(zeros, zeros) if z.is_complex() else NotImplemented


def _fill(z: Tensor, value: Tensor) -> Any:
    if not z.is_complex():
        return NotImplemented
    zeros = torch.zeros(z.shape, dtype=torch.float64)
    return torch.complex(zeros + _part(value, 0), zeros + _part(value, 1) if value.is_complex() else zeros)


def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    return scale * torch.where(x > 0, x, alpha * (torch.exp(input_scale * x.clamp(max=0)) - 1))


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.where(x * beta > threshold, x, torch.log(1 + torch.exp((x * beta).clamp(max=threshold))) / beta)


def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return x / 2 * (1 + torch.erf((x / math.sqrt(2)).float()).double())


PARTS = (
    aten.alias.default,
    aten.unsqueeze.default,
    aten.expand.default,
    aten.select.int,
    aten.constant_pad_nd.default,
    aten.index.Tensor,
    aten.select_scatter.default,
    aten.slice_scatter.default,
    aten.index_put.default,
)
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    **{operation: _by_parts(operation) for operation in PARTS},
    aten.mm.default: _product(aten.mm.default),
    aten.bmm.default: _product(aten.bmm.default),
    aten.zeros_like.default: _zeros,
    aten.fill.Tensor: _fill,
    aten.elu.default: _elu,
    aten.softplus.default: _softplus,
    aten.gelu.default: _gelu,
}
