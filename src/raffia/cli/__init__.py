"""The command line: parses, calls, prints. Errors are one line and exit code 2; signals one line and 128 + their number."""

import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from typing import Annotated

import typer

from raffia import __version__
from raffia.cli.console import app, console, shown
from raffia.errors import RaffiaError
from raffia.interrupts import SIGNALS, unwinding


def main() -> None:
    """Run a command; every expected failure is one line on stderr and exit code 2."""
    os.environ.setdefault(
        "GOMP_SPINCOUNT", "1000"
    )  # threads that wait for one another give way to other processes after so many turns
    with warnings.catch_warnings(), unwinding():
        warnings.showwarning = _one_line  # type: ignore[assignment]
        _run()


def _one_line(message: Warning | BaseException | str, *_: object) -> None:
    with suppress(OSError):  # after SIGHUP there may be no terminal
        sys.stderr.write(f"raffia: {shown(' '.join(str(message).split()))}\n")


def _run() -> None:
    try:
        app()
    except SystemExit as stop:
        if stop.code in {128 + number for number in SIGNALS}:
            _one_line(f"stopped by {signal.Signals(stop.code - 128).name}.")
        raise
    except _expected() as error:
        _one_line(error)
    except MemoryError as error:
        _one_line(_out_of_memory(str(error)))
    except RuntimeError as error:  # torch has no other for what a CPU cannot hold
        if not re.search("allocate|out of memory|not enough memory|Storage size calculation overflowed", str(error)):
            raise
        _one_line(_out_of_memory(str(error)))
    raise SystemExit(2)


def _expected() -> tuple[type[Exception], ...]:
    """Errors of the user; scikit-learn's, for models that are not trained, if a command has imported scikit-learn."""
    module = sys.modules.get("sklearn.exceptions")
    return (RaffiaError, OSError, *([] if module is None else [module.NotFittedError]))


def _out_of_memory(words: str) -> str:
    """What was needed, where the error says so, and what to change."""
    needed = re.search(r"allocate (\d+) bytes", words)
    amount = f"{int(needed[1]) / 2**30:.3g} GiB" if needed else "".join(re.findall(r"allocate ([\d.]+ \wiB)", words)[:1])
    return (
        f"out of memory{amount and f': {amount} were asked for at once'}. Less is needed with fewer --features, --points or pairs, "
        "and in raffia fit with --stream or a smaller --memory-budget."
    )


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Learn maps between function spaces with random features."""
    if version:
        console.print(f"raffia {__version__}")
        raise typer.Exit
