"""Models for programs without raffia: a torch.export program, or ONNX, for any number of inputs, on one grid or on any."""

import io
import logging
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx

from raffia.errors import RaffiaError
from raffia.model.anywhere import Anywhere, anywhere
from raffia.model.at import FlatOperator
from raffia.model.operator import Operator
from raffia.model.real import Real
from raffia.model.recording import COUNTS, recorded
from raffia.storage import archive, atomic

TESTED = (1, 64)
"""Numbers of inputs that what was exported is compared with predictions for."""
ALLOWED = {".pt2": 1e-12, ".onnx": 1e-6}
"""Differences to predictions, relative to the largest of them."""
MORE = 3
Predict = Callable[[Tensor], Tensor]


def export(operator: Operator, path: archive.Path, grid: Any = None) -> float:
    """Write what predicts on a grid, or on any, compare it with predictions, and return the largest relative difference."""
    suffix = Path(path).suffix
    if suffix not in ALLOWED:
        raise RaffiaError(f"export writes .pt2, a torch.export program, and .onnx; got {str(path)!r}.")
    predict = operator.moved(torch.device("cpu"))
    if type(grid) is str and grid == "any":
        if suffix == ".onnx":
            raise RaffiaError(
                "export(grid='any') writes .pt2: in ONNX, transforms are matrices of one grid, which must be named."
            )
        content, run, shapes = _program_anywhere(anywhere(predict))
    else:
        shapes = [FlatOperator(operator, grid).input_grid.shape]
        graph = recorded(predict, lambda n: torch.ones(n, *shapes[0], dtype=torch.float64))
        content, run = _onnx(graph, shapes[0]) if suffix == ".onnx" else _program(graph, shapes[0])
    kind = torch.float32 if suffix == ".onnx" else torch.float64
    difference = max(_difference(predict, run, shape, kind) for shape in shapes)
    if not difference <= ALLOWED[suffix]:
        raise RaffiaError(
            f"what was exported differs from predictions by {difference:.1e}, more than {ALLOWED[suffix]:g}, so {path} was not written."
        )
    with atomic(path) as temporary:
        Path(temporary).write_bytes(content)
    return difference


def _difference(predict: Predict, run: Predict, shape: tuple[int, ...], dtype: torch.dtype) -> float:
    """Relative to the largest prediction, on inputs near 1, which every model takes."""
    found = 0.0
    for count in TESTED:
        generator = torch.Generator().manual_seed(count)
        a = 0.5 + torch.rand(count, *shape, dtype=torch.float64, generator=generator).to(dtype)
        wanted = predict(a.double())
        found = max(found, float((run(a).double() - wanted).abs().max() / wanted.abs().max().clamp(min=1e-300)))
    return found


def _exported(graph: fx.GraphModule, example: Tensor, least: dict[int, int] | None = None) -> Any:
    """With any number of inputs, and of points along axes that may have any from the least on."""
    sizes = {0: torch.export.Dim("n", min=1)}
    sizes |= {axis: torch.export.Dim(f"points{axis}", min=points) for axis, points in (least or {}).items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            later: Any = {"prefer_deferred_runtime_asserts_over_guards": least is not None}
            return _unasserted(torch.export.export(graph, (example,), dynamic_shapes=(sizes,), **later))
    except Exception as error:
        what = "numbers of inputs and grids" if least else "numbers of inputs"
        raise RaffiaError(
            f"torch.export does not allow for all {what} in this model: {' '.join(str(error).split())[:300]}"
        ) from error


def _unasserted(program: Any) -> Any:
    """Without what torch.export only supposed of sizes while it looked at an example; from the least on, comparisons say more."""
    graph = program.graph_module.graph
    for node in [node for node in graph.nodes if str(node.target) == "aten._assert_scalar.default"]:
        graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    return program


def _program(graph: fx.GraphModule, shape: tuple[int, ...]) -> tuple[bytes, Predict]:
    return _written(_exported(graph, torch.ones(COUNTS[0], *shape, dtype=torch.float64)))


def _program_anywhere(found: Anywhere) -> tuple[bytes, Predict, list[tuple[int, ...]]]:
    """From the fewest points on, or where torch.export wants more, a few more; with it, shapes to compare on."""
    example, first = torch.ones(COUNTS[0], *found.first, dtype=torch.float64), len(found.first) - found.axes
    for more in range(MORE):
        least = (*found.least[:first], *(points + more for points in found.least[first:]))
        try:
            written = _written(_exported(found.graph, example, dict(enumerate(least[first:], 1 + first))))
            return *written, [least, *found.compared]
        except RaffiaError as error:
            refused = error
    raise refused


def _written(program: Any) -> tuple[bytes, Predict]:
    content = io.BytesIO()
    torch.export.save(program, content)
    return content.getvalue(), program.module()


def _onnx(graph: fx.GraphModule, shape: tuple[int, ...]) -> tuple[bytes, Callable[[Tensor], Tensor]]:
    """Single precision in and out, double inside: coefficients of features cancel more digits than single precision has."""
    try:
        runtime = [import_module(name) for name in ("onnxscript", "onnxruntime")][1]
    except ImportError as error:
        raise RaffiaError(f"ONNX needs packages that do not import ({error}): pip install 'raffia[export]'.") from error

    def example(n: int) -> Tensor:
        return torch.ones(n, *shape, dtype=torch.float32)

    real = recorded(lambda a: Real(graph).run(a.double()).float(), example)
    program = _exported(real, example(COUNTS[0]))
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # the exporter tells of what it does
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            written: Any = torch.onnx.export(program, dynamo=True, verbose=False)
            content = written.model_proto.SerializeToString()
            session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RaffiaError(
            f"this model has operations that ONNX or its runtime has not: {str(error).splitlines()[0]}"
        ) from error
    finally:
        logging.disable(before)
    name = session.get_inputs()[0].name
    return content, lambda a: torch.from_numpy(session.run(None, {name: a.numpy()})[0])
