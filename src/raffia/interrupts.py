"""What the command line sets before anything else: how signals stop it, and how its threads wait.

Whatever it is doing, nothing is half-written, and no traceback is shown.

While Python still imports, there is nothing to clean up, and Ctrl-C ends the process at once. So the package imports this module first;
in a program of the user's that imports raffia, it changes nothing.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def unwinding() -> Iterator[None]:
    """In the block, SIGTERM and SIGHUP raise `SystemExit`, as Ctrl-C raises `KeyboardInterrupt`: all that is open gets closed."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    numbers = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL
    ]  # not nohup's
    for number in numbers:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """In the block, Ctrl-C ends the process at once, as while Python imports there is nothing to clean up."""
    before = signal.getsignal(signal.SIGINT)
    if not _is_command() or before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _is_command() -> bool:
    """Whether this process is `raffia …` or `python -m raffia …`; while Python looks for a module to run, the first word is -m."""
    first = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
    return first == "raffia" or (first == "-m" and "raffia" in sys.orig_argv)


if _is_command():  # threads that wait for one another give way to other processes after so many turns
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
