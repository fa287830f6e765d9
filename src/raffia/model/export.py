"""Models for programs without raffia: a torch.export program, or ONNX, on one grid, for any number of inputs."""

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
from raffia.model.at import FlatOperator
from raffia.model.real import Real
from raffia.model.recording import COUNTS, recorded
from raffia.storage import archive, atomic

TESTED = (1, 64)
"""Numbers of inputs that what was exported is compared with predictions for."""
ALLOWED = {".pt2": 1e-12, ".onnx": 1e-6}
"""Differences to predictions, relative to the largest of them."""


def export(operator: FlatOperator, path: archive.Path) -> float:
    """Write what predicts on the grid of the operator, compare it with predictions, and return the largest relative difference."""
    suffix = Path(path).suffix
    if suffix not in ALLOWED:
        raise RaffiaError(f"export writes .pt2, a torch.export program, and .onnx; got {str(path)!r}.")
    predict = operator.operator.moved(torch.device("cpu"))
    shape = operator.input_grid.shape
    graph = recorded(predict, lambda n: torch.ones(n, *shape, dtype=torch.float64))
    content, run = _onnx(graph, shape) if suffix == ".onnx" else _program(graph, shape)
    difference = _difference(predict, run, shape, torch.float32 if suffix == ".onnx" else torch.float64)
    if not difference <= ALLOWED[suffix]:
        raise RaffiaError(
            f"what was exported differs from predictions by {difference:.1e}, more than {ALLOWED[suffix]:g}, so {path} was not written."
        )
    with atomic(path) as temporary:
        Path(temporary).write_bytes(content)
    return difference


def _difference(predict: Callable[[Tensor], Tensor], run: Callable[[Tensor], Tensor], shape: Any, dtype: Any) -> float:
    """Relative to the largest prediction, on inputs near 1, which every model takes."""
    found = 0.0
    for count in TESTED:
        generator = torch.Generator().manual_seed(count)
        a = 0.5 + torch.rand(count, *shape, dtype=torch.float64, generator=generator).to(dtype)
        wanted = predict(a.double())
        found = max(found, float((run(a).double() - wanted).abs().max() / wanted.abs().max().clamp(min=1e-300)))
    return found


def _exported(graph: fx.GraphModule, example: Tensor) -> Any:
    """With any number of inputs."""
    batch = torch.export.Dim("n", min=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(graph, (example,), dynamic_shapes=({0: batch},))


def _program(graph: fx.GraphModule, shape: Any) -> tuple[bytes, Callable[[Tensor], Tensor]]:
    program, written = _exported(graph, torch.ones(COUNTS[0], *shape, dtype=torch.float64)), io.BytesIO()
    torch.export.save(program, written)
    return written.getvalue(), program.module()


def _onnx(graph: fx.GraphModule, shape: Any) -> tuple[bytes, Callable[[Tensor], Tensor]]:
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
