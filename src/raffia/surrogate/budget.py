"""How much a fit does: a budget in seconds, the plan of work that comes of it, and the clock that both are measured by."""

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import FrameType

import torch

from raffia.errors import RaffiaError
from raffia.model.trained import WorkPlan
from raffia.regression import available_memory

EFFORTS = {"quick": 10.0, "normal": 60.0, "long": 600.0}
"""Names of budgets, in seconds."""


@dataclass(frozen=True, kw_only=True)
class BudgetDefaults:
    """How a budget is spent.

    Attributes
    ----------
    contest, closed, training
        Shares of the budget after which no more is searched, no candidate is begun, and nothing optional is.
    small
        The share of the budget that something optional may take at any time.
    values
        Values of inputs and outputs that features are chosen on, at a speed of one, in a minute.
    fewest, most
        Pairs that features are chosen on, where there are so many, and at most in a minute.
    matrix, speed
        Size of the matrix product that the machine is timed with, and how many take a second at a speed of one.
    worker_bytes
        Free memory for each worker.
    """

    contest: float = 0.55
    closed: float = 0.9
    small: float = 0.2
    training: float = 0.8
    values: int = 2**21
    fewest: int = 64
    most: int = 1024
    matrix: int = 384
    speed: float = 200.0
    worker_bytes: int = 3 * 2**30


DEFAULTS = BudgetDefaults()
_ENDED: ContextVar[threading.Event | None] = ContextVar("ended", default=None)
"""What Ctrl-C sets, in a block that it does not end."""


def seconds_for(budget: float | int | None, effort: str | None) -> float:
    """Return the time limit in seconds, from `budget` or from the name in `effort`."""
    if effort is not None and effort not in EFFORTS:
        raise RaffiaError(f"effort must be {', '.join(map(repr, EFFORTS))}; got {effort!r}.")
    if budget is None:
        return EFFORTS[effort or "normal"]
    if effort is not None:
        raise RaffiaError("budget=… (--budget) and effort=… (--effort) both say how long a fit may take: pass one of them.")
    if not 0 < budget < math.inf:
        raise RaffiaError(f"budget must be a number of seconds > 0; got {budget!r}.")
    return float(budget)


def planned(seconds: float, values: int) -> WorkPlan:
    """A plan by timing this machine; `values` are those of one pair. Speeds are rounded to powers of two, lest noise change the plan."""
    matrix, count = torch.ones(DEFAULTS.matrix, DEFAULTS.matrix, dtype=torch.float64), 4
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - begun)
    torch.set_num_threads(threads)
    speed = min(2.0, 2.0 ** math.floor(0.5 + math.log2(1 / (min(times) * DEFAULTS.speed))))
    share = speed * seconds / 60.0
    pairs = int(share * DEFAULTS.values / max(1, values))
    return WorkPlan(
        seconds=seconds, compared=max(DEFAULTS.fewest, min(pairs, round(DEFAULTS.most * max(1.0, math.sqrt(share)))))
    )


class Clock:
    """The time left of a budget, which Ctrl-C ends early; and the plan, as it is carried out.

    A plan that was given is followed, whatever the time.
    """

    def __init__(self, plan: WorkPlan, begun: float, given: bool = False) -> None:
        self.plan, self.begun, self.given = plan, begun, given
        self._never = threading.Event()

    @property
    def interrupted(self) -> threading.Event:
        """What Ctrl-C sets."""
        return _ENDED.get() or self._never

    @property
    def seconds(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.begun

    def over(self, share: float) -> bool:
        """Whether this share of the budget is spent, or the user has ended the fit."""
        return self.interrupted.is_set() or (not self.given and self.seconds > share * self.plan.seconds)

    def affords(self, seconds: float) -> bool:
        """Whether something optional, which changes no model, may take so long: there is time, or it takes little."""
        small = seconds < DEFAULTS.small * self.plan.seconds
        return not self.interrupted.is_set() and (small or self.seconds + seconds < DEFAULTS.training * self.plan.seconds)

    def stop(self, name: str, taken: int) -> "Stop":
        """What ends the search of these features, of which some steps are taken: the plan that was given, or the time."""
        return Stop(self, name, taken)

    def record(self, **changes: object) -> None:
        """Put into the plan what was decided on the way."""
        self.plan = replace(self.plan, **changes)  # type: ignore[arg-type]


class Stop:
    """Whether a search takes no more steps; it counts them."""

    def __init__(self, clock: Clock, name: str, taken: int) -> None:
        self.clock, self.name, self.taken = clock, name, taken

    def __call__(self) -> bool:
        """Whether to go no further; if not, a step is taken."""
        clock = self.clock
        ended = clock.over(DEFAULTS.contest) or (clock.given and self.taken >= clock.plan.steps.get(self.name, 0))
        self.taken += not ended
        return ended


def workers_for(device: str | torch.device | None) -> int:
    """How many tasks run side by side: as many as torch has threads, as far as memory serves; one on a GPU."""
    if torch.device(device or "cpu").type != "cpu":
        return 1
    return max(1, min(torch.get_num_threads(), available_memory(torch.device("cpu")) // DEFAULTS.worker_bytes))


@contextmanager
def ended_by_ctrl_c() -> Iterator[threading.Event]:
    """In the block, the first Ctrl-C ends the work that is optional, by setting the event, and the second ends all.

    A block inside another has the same event.
    """
    ended, before = _ENDED.get() or threading.Event(), signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if _ENDED.get() is not None or not main or before in (signal.SIG_IGN, None):
        yield ended
        return

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()
        signal.signal(number, before)

    token = _ENDED.set(ended)
    signal.signal(signal.SIGINT, end)
    try:
        yield ended
    finally:
        _ENDED.reset(token)
        signal.signal(signal.SIGINT, before)
