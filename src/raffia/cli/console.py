"""The application itself, the console that commands print to, and the table of commands. It imports nothing that takes long."""

import re
import signal
from importlib import import_module
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "fit": "Train a surrogate on the pairs or trajectories in a file; write the model and a report.",
    "inspect": "Show what a data file holds, how raffia reads it, and what to type next.",
    "predict": "Predict outputs for the inputs in a file.",
    "evaluate": "Compare predictions with the true outputs in a file.",
    "rollout": "Apply a model of time steps again and again, from states in a file.",
    "serve": "Serve models to other programs over HTTP, and to a browser.",
    "export": "Write a model as a program for torch.export or ONNX Runtime.",
    "generate": "Write pairs or trajectories of a benchmark problem to a file.",
    "demo": "Train a model on a benchmark problem and test it on other grids.",
    "reproduce": "Compute the results of the paper, and write pages that compare them.",
    "benchmark": "Compare errors and times with published ones.",
    "bench": "Measure speed against the limits of this machine.",
}
"""What `raffia --help` says of each command. A command is imported when it is called."""
FILES = {"evaluate": "predict"}
"""Commands that share a file with another."""


def shown(text: str) -> str:
    """Text that a terminal shows as it is: control characters, which it would obey, are written out, as \\x1b."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _Commands(TyperGroup):
    """The commands; Ctrl-C ends them with exit code 130, in every version of typer."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them, imported now."""
        if cmd_name not in COMMANDS:
            return None
        import_module(f"raffia.cli.{FILES.get(cmd_name, cmd_name)}")
        return typer.main.get_group(app).commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(128 + signal.SIGINT) from None


METAVARS = {"list[str]": "NAME", "list[float]": "NUMBER", "str": "TEXT", "path": "FILE"} | dict.fromkeys(
    ("int", "float", "int range", "float range"), "NUMBER"
)
"""What newer versions of typer call types, and what the help calls them."""


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
