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

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def unwinding() -> Iterator[None]:
    """In the block these signals raise exceptions, so that open files are closed. A signal that a shell or nohup ignores stays ignored."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    ours = {number: handler for number, handler in handlers.items() if handler in (signal.SIG_DFL, signal.default_int_handler)}
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """In the block, Ctrl-C ends the process at once, as while Python imports there is nothing to clean up."""
    before = signal.getsignal(signal.SIGINT)
    if not _is_command() or before not in (signal.default_int_handler, _stop):
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _is_command() -> bool:
    """Whether this process is `raffia …` or `python -m raffia …`; while Python looks for a module to run, the first word is -m."""
    first = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
    return first == "raffia" or (first == "-m" and "raffia" in sys.orig_argv)


if _is_command():  # threads that wait for one another give way to other processes after so many turns
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
