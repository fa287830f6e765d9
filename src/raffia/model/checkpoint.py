"""Checkpoints: statistics in a file, with a description of their problem, so that an interrupted run can continue."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression import Packed, Statistics
from raffia.spaces import bytes_of
from raffia.storage import archive, destination
from raffia.storage.atomic import remove_leftovers


class Checkpoint:
    """The statistics of the finished batches, one sum for each fold, written at most every `every` seconds."""

    def __init__(self, path: Path, problem: dict[str, str], every: float) -> None:
        destination(path)  # fails early if the folder cannot be written to
        self.path = path
        self.problem = problem
        self.every = every
        self._written = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def write(self, sums: Sequence[Statistics | None], done: int) -> None:
        """Replace the file; if that fails, the old one stays."""
        content = [None if one is None else one.packed() for one in sums]
        digest = _digest(content, done)
        archive.write(self.path, {"problem": self.problem, "done": done, "sums": content, "digest": digest})
        self._written = time.monotonic()

    def read(self) -> tuple[list[Packed | None], int]:
        """The sums and the number of their batches. Refuses damaged files and those of other problems."""
        try:
            content = archive.read(self.path)
            problem, sums, done = content["problem"], content["sums"], content["done"]
            intact = content["digest"] == _digest(sums, done)
        except (RaffiaError, KeyError, TypeError, AttributeError):
            intact = False
        if not intact:
            raise RaffiaError(f"{self.path} is not a checkpoint, or it is damaged: delete it to start from the first batch.")
        differs = [
            f"{name} was {problem.get(name, 'absent')} and is {value}"
            for name, value in self.problem.items()
            if problem.get(name) != value
        ]
        if differs:
            raise RaffiaError(
                f"{self.path} is the checkpoint of another problem: {'; '.join(differs)}. Delete it, or pass another checkpoint."
            )
        return sums, done

    def remove(self) -> None:
        """Remove the file and temporary files of killed processes; files that another run is writing stay."""
        target = destination(self.path)
        target.unlink(missing_ok=True)
        remove_leftovers(target)


def _digest(sums: Sequence[Packed | None], done: int) -> str:
    """A hash that detects damage."""
    hashed = hashlib.sha256(str(done).encode())
    for one in sums:
        for name, value in ({} if one is None else one).items():
            hashed.update(name.encode())
            array = isinstance(value, (np.ndarray, Tensor))
            hashed.update(bytes_of(torch.as_tensor(value)) if array else str(value).encode())
    return hashed.hexdigest()
