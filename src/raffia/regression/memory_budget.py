"""Limits of memory, and batches sent to a GPU: the next is copied while one is used."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import tile_elements
from raffia.regression.regression_defaults import DEFAULTS
from raffia.transforms import is_tracked

Batch = tuple[Tensor, ...]
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True)
class Workspace:
    """Half of the memory budget is for features, half for what is precomputed from θ. None is 1 GiB on a CPU, 8 GiB on a GPU."""

    n_features: int
    device: torch.device
    batch_size: int | None = None
    memory_budget: int | None = None

    @property
    def budget(self) -> int:
        """The number of array elements of features."""
        return (self.memory_budget or (2**30 if self.device.type == "cpu" else 2**33)) // 16

    @property
    def tile(self) -> int:
        """Array elements of features evaluated at once. A map may need a few times as many for intermediate values."""
        return min(tile_elements(self.device), max(1, self.budget // 8))

    def fit_size(self, points: int) -> int:
        """Samples in a batch, each with `points` rows: enough for fast products, within the budget."""
        if self.batch_size is not None:
            return int(self.batch_size)
        allowed = (self.budget - 4 * self.tile) // (self.n_features * points)
        if allowed < 1:
            need = 32 * self.n_features * points
            given = self.memory_budget or 16 * self.budget
            raise RaffiaError(
                f"memory_budget={given} bytes is too small: the features of one sample ({self.n_features} × {points} "
                f"elements) and room to evaluate them take {need} bytes. Pass memory_budget={need} or more, or fewer n_features."
            )
        wanted = DEFAULTS.rows_per_product if self.device.type == "cpu" else DEFAULTS.rows_per_product * 32
        return int(max(1, min(allowed, wanted // points)))

    def predict_size(self, points: int) -> int:
        """Inputs in a batch, such that a tile holds about 128 features."""
        return int(self.batch_size or max(1, self.tile // (min(self.n_features, 128) * points)))


def fits(values: Tensor, device: torch.device) -> bool:
    """Whether values can be moved to a device as a whole: they are there already, or take at most a quarter of its free memory."""
    return values.device.type == device.type or 4 * values.nbytes <= available_memory(device)


def arriving(batches: Iterable[Batch], device: torch.device) -> Iterator[Batch]:
    """The same batches on the device. Pinned copies overlap with the work on the batch before."""
    if device.type != "cuda":
        yield from (tuple(part.to(device) for part in batch) for batch in batches)
        return
    side, waiting = torch.cuda.Stream(device), None
    for batch in batches:
        with torch.cuda.stream(side):
            sent = tuple(part.to(device) if part.is_cuda else part.pin_memory().to(device, non_blocking=True) for part in batch)
            arrived = side.record_event()
        if waiting is not None:
            yield _received(*waiting)
        waiting = sent, arrived
    if waiting is not None:
        yield _received(*waiting)


def _received(sent: Batch, arrived: torch.cuda.Event) -> Batch:
    """Make the work that follows wait for the copy, and keep the memory until that work is done."""
    here = torch.cuda.current_stream(sent[0].device)
    here.wait_event(arrived)
    for part in sent:
        part.record_stream(here)
    return sent


def joined(rows: int, parts: Iterator[Tensor]) -> Tensor:
    """Concatenate parts into one preallocated tensor. `torch.cat` at the end would need several times the memory."""
    whole, done = None, 0
    for part in parts:
        if len(part) == rows or is_tracked(part):
            return torch.cat([part, *parts]) if whole is None else torch.cat([whole[:done], part, *parts])
        whole = part.new_empty(rows, *part.shape[1:]) if whole is None else whole
        whole[done : done + len(part)] = part
        done += len(part)
    assert whole is not None  # there is at least one input
    return whole


def available_memory(device: torch.device) -> int:
    """Bytes that can be allocated now without swapping, within the limits of a container; memory that torch has cached is free."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + kept
    try:
        with open("/proc/meminfo") as file:
            facts = dict(line.split(":", 1) for line in file)
        free = int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return min(free, *_allowed(CGROUPS))


def _allowed(groups: Iterable[tuple[str, str]]) -> Iterator[int]:
    """Bytes that the control groups of the process allow (version 2, then version 1)."""
    yield 2**62
    for limit, usage in groups:
        try:
            with open(limit) as most, open(usage) as used:
                yield max(0, int(most.read()) - int(used.read()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
