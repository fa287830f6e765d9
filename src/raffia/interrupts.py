"""How signals stop the command line: whatever it is doing, nothing is half-written, and no traceback is shown."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
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


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
