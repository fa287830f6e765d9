"""What the commands share: the console, bars, and checks of what was asked."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from raffia.data import Dataset, Schema, SideSchema
from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.problems import Problem
from raffia.storage import atomic, destination


def shown(text: str) -> str:
    """Text that a terminal shows as it is: control characters, which it would obey, are written out, as \\x1b."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _Commands(TyperGroup):
    """The commands; Ctrl-C ends them with exit code 130, in every version of typer."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(128 + signal.SIGINT) from None


METAVARS = {"list[str]": "NAME", "list[float]": "NUMBER", "str": "TEXT", "path": "FILE"} | dict.fromkeys(
    ("int", "float", "int range", "float range"), "NUMBER"
)
"""What newer versions of typer call types, and what help calls them."""


class GroupedCommand(TyperCommand):
    """A command of many options: its help has them under headings, those that name none under the first."""

    HEADINGS = ("Data", "Errors", "Model", "Effort", "Output")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each heading with its options."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *self.HEADINGS, "Other")}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                record = (re.sub(r"<([\w\[\] ]+)>", lambda found: METAVARS.get(found[1], found[0]), record[0]), record[1])
                own = getattr(param, "rich_help_panel", None) or ("Other" if param.name == "help" else self.HEADINGS[0])
                sections["Arguments" if param.param_type_name == "argument" else own].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class _Console(Console):
    """A console for names and paths of others: no markup, no emoji, no escape sequences."""

    def render_str(self, text: str, **options: Any) -> Text:
        """All words that are printed, those in tables too, come through here."""
        return super().render_str(shown(text), **options)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Learn maps between function spaces with random features.",
)
console = _Console(highlight=False, markup=False, emoji=False)


class Example(StrEnum):
    """The benchmark problems."""

    burgers = "burgers"
    darcy = "darcy"
    bridge = "bridge"


def generate_in_batches(problem: Problem, n: int, points: int | None, seed: int) -> Dataset:
    """`problem.dataset`, with a bar."""
    parts = [problem.dataset(rows, points, seed) for rows in batches("generating", n, 128)]
    a, y = torch.cat([part.a for part in parts]), torch.cat([part.y for part in parts])
    return Dataset(a, y, problem.space, parts[0].settings | {"rows": [0, n]})


def fit_in_batches(model: RandomFeatureModel, dataset: Dataset) -> RandomFeatureModel:
    """Statistics add, so a fit in batches is the fit, and a bar can be shown; a ridge to be found needs all the data at once."""
    if model.ridge == "auto":
        with console.status("training") if console.is_terminal else nullcontext():
            return model.fit(dataset.a, dataset.y)
    for rows in batches("training", len(dataset), 64):
        model.partial_fit(dataset.a[rows.start : rows.stop], dataset.y[rows.start : rows.stop])
    _ = model.solution_
    return model


def predict_in_batches(model: RandomFeatureModel, a: torch.Tensor) -> torch.Tensor:
    """`model.predict`, with a bar."""
    return torch.cat([torch.as_tensor(model.predict(a[rows.start : rows.stop])) for rows in batches("predicting", len(a), 128)])


def say_novel(model: RandomFeatureModel, a: torch.Tensor) -> None:
    """Print which inputs lie outside the training data, if any do."""
    if text := model.novelty_warning(a):
        console.print(text, style="yellow", soft_wrap=True)


def schema_of(model: RandomFeatureModel) -> Schema:
    """How to read files for a model: as the file of its training was read, or where it had none, by its spaces."""
    frame = model.trained_.frame
    by_spaces = Schema(input=SideSchema(space=frame.input), output=SideSchema(space=frame.output))
    return getattr(model, "schema_", None) or by_spaces


def batches(label: str, total: int, size: int) -> Iterator[range]:
    """Ranges of `size` that cover 0 … total, with a bar when somebody is looking."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        for start in range(0, total, size):
            rows = range(start, min(start + size, total))
            yield rows
            bar.advance(task, len(rows))


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file and print its name."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False))
    console.print(f"wrote {path}", soft_wrap=True)


def print_table(table: Table) -> None:
    """Print a table at least 120 characters wide, whatever the terminal."""
    Console(highlight=False, markup=False, width=max(console.width, 120)).print(table)


def check_output(output: Path, suffix: str, option: str = "--output") -> None:
    """Before the work, not after it; `suffix` is one, or several as in ".png, .pdf or .svg"."""
    if output.suffix not in suffix.replace(" or", ",").split(", "):
        raise RaffiaError(f"{option} must end in {suffix}; got {output}.")
    if not output.parent.is_dir():
        raise RaffiaError(f"{option} {output}: there is no folder {output.parent}. Make it first.")
    try:
        folder = destination(output).parent
    except RaffiaError as error:
        raise RaffiaError(f"{option}: {error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RaffiaError(f"{option} {output}: files cannot be written to the folder {folder}. Choose another.")


def make_folder(folder: Path, option: str = "--output") -> None:
    """A folder to write to, made if it is not there; before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RaffiaError(f"{option} {folder}: the folder cannot be made ({error.strerror}). Choose another.") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RaffiaError(f"{option} {folder}: files cannot be written to this folder. Choose another.")
