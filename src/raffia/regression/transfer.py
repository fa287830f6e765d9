"""What fits into a device, and batches on their way from the CPU to a GPU: the next one is sent while one is used."""

import os
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

Batch = tuple[Tensor, ...]


def fits(values: Tensor, device: torch.device) -> bool:
    """Whether to move values as a whole: they are there, or a quarter of the memory there holds them."""
    return values.device.type == device.type or 4 * values.nbytes <= available_memory(device)


def arriving(batches: Iterable[Batch], device: torch.device) -> Iterator[Batch]:
    """The same batches on the device, by pinned copies that overlap with the work on the batch before."""
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
    """Let the work that follows wait for the copy, and keep the memory until that work is done."""
    here = torch.cuda.current_stream(sent[0].device)
    here.wait_event(arrived)
    for part in sent:
        part.record_stream(here)
    return sent


def joined(rows: int, parts: Iterator[Tensor]) -> Tensor:
    """The parts one after the other, in memory taken once: what many small pieces leave behind would be many times as much."""
    whole, done = None, 0
    for part in parts:
        if len(part) == rows or part.requires_grad:
            return torch.cat([part, *parts]) if whole is None else torch.cat([whole[:done], part, *parts])
        whole = part.new_empty(rows, *part.shape[1:]) if whole is None else whole
        whole[done : done + len(part)] = part
        done += len(part)
    assert whole is not None  # there is at least one input
    return whole


def available_memory(device: torch.device) -> int:
    """Bytes that can be taken now without swapping."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo") as file:
            facts = dict(line.split(":", 1) for line in file)
        return int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
