"""What the commands share: bars, tables, and checks of what was asked."""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from raffia.cli.console import console, shown
from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.problems import Problem
from raffia.storage import atomic, destination


def generate_in_batches(problem: Problem, n: int, points: int | None, seed: int) -> Dataset:
    """`problem.dataset`, with a bar."""
    parts = [problem.dataset(rows, points, seed) for rows in batches("generating", n, 128)]
    a, y = torch.cat([part.a for part in parts]), torch.cat([part.y for part in parts])
    return Dataset(a, y, problem.space, parts[0].settings | {"rows": [0, n]})


def working(label: str) -> AbstractContextManager[object]:
    """Show that something is done, when somebody is looking."""
    return console.status(label) if console.is_terminal else nullcontext()


def predict_in_batches(model: RandomFeatureModel, a: torch.Tensor) -> torch.Tensor:
    """`model.predict`, with a bar."""
    return torch.cat([torch.as_tensor(model.predict(a[rows.start : rows.stop])) for rows in batches("predicting", len(a), 128)])


def say_novel(model: RandomFeatureModel, a: torch.Tensor) -> None:
    """Print which inputs lie outside the training data, if any do."""
    if text := model.novelty_warning(a):
        console.print(text, style="yellow", soft_wrap=True)


def batches(label: str, total: int, size: int) -> Iterable[range]:
    """Ranges of `size` that cover 0 … total, with a bar when somebody is looking."""
    ranges = [range(start, min(start + size, total)) for start in range(0, total, size)]
    return track(ranges, label, console=console, transient=True, disable=not console.is_terminal)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file and print its name."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False))
    console.print(f"wrote {path}", soft_wrap=True)


def print_table(
    rows: Iterable[Sequence[str]], header: Sequence[str] = (), title: str | None = None, least_width: int | None = None
) -> None:
    """Print rows of texts; with `least_width`, a table of so many characters at least, whatever the terminal."""
    table = Table(*header, title=title, show_header=bool(header))
    for row in rows:
        table.add_row(*map(shown, row))
    wide = least_width and Console(highlight=False, markup=False, width=max(console.width, least_width))
    (wide or console).print(table)


def check_output(output: Path, suffixes: Collection[str], option: str = "--output") -> None:
    """Before the work, not after it."""
    if output.suffix not in suffixes:
        raise RaffiaError(f"{option} must end in {' or '.join(suffixes)}; got {output}.")
    if not output.parent.is_dir():
        raise RaffiaError(f"{option} {output}: there is no folder {output.parent}. Make it first.")
    try:
        folder = destination(output).parent
    except RaffiaError as error:
        raise RaffiaError(f"{option}: {error}") from None
    _check_writable(folder, f"{option} {output}")


def make_folder(folder: Path) -> None:
    """A folder to write to, made if it is not there; before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RaffiaError(f"--output {folder}: the folder cannot be made ({error.strerror}). Choose another.") from None
    _check_writable(folder, f"--output {folder}")


def _check_writable(folder: Path, option: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RaffiaError(f"{option}: files cannot be written to the folder {folder}. Choose another.")
