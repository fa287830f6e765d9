"""Models for programs without raffia: a `torch.export` program or an ONNX file, for one grid and any number of inputs."""

import io
import logging
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.model.model_defaults import ROWS
from raffia.model.onnx_operations import DECOMPOSITIONS
from raffia.model.operator import Operator
from raffia.model.recording import record
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
    example = torch.ones(ROWS[0], *shape, dtype=dtype)
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
