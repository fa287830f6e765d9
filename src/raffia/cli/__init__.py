"""The command line: parses, calls, prints. Errors are one line and exit code 2."""

import sys
import warnings
from typing import Annotated

import typer
from sklearn.exceptions import NotFittedError

from raffia import __version__
from raffia.cli import bench, demo, fit, generate, inspect, predict, reproduce  # noqa: F401  (each adds its commands)
from raffia.cli.common import app, console
from raffia.errors import RaffiaError


def main() -> None:
    """Run a command; every expected failure is one line on stderr and exit code 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _one_line  # type: ignore[assignment]
        try:
            app()
        except (RaffiaError, NotFittedError, OSError) as error:
            _one_line(" ".join(str(error).split()))
            raise SystemExit(2) from None


def _one_line(message: Warning | str, *_: object) -> None:
    sys.stderr.write(f"raffia: {message}\n")


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Learn maps between function spaces with random features."""
    if version:
        console.print(f"raffia {__version__}")
        raise typer.Exit
