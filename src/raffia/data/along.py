"""Where pairs lie along trajectories: which of them belong together, and which follow one another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from raffia.errors import RaffiaError


@dataclass(frozen=True, eq=False)
class Along:
    """The number of the trajectory that each pair is of, and that of the first state of its input, counted from 0.

    An input is `window` states, the oldest first, then as many numbers as are `fixed` along a trajectory; an output is the `horizon` states
    that follow, all of them `stride` steps apart. `said` tells whether the window was asked for; `notes` are what was noticed, or chosen.
    """

    trajectory: Int[Tensor, "n"]
    first: Int[Tensor, "n"]
    stride: int = 1
    window: int = 1
    horizon: int = 1
    fixed: int = 0
    said: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.trajectory.shape != self.first.shape:
            raise RaffiaError(
                f"pairs along trajectories need a trajectory and a state each; got {tuple(self.trajectory.shape)} and "
                f"{tuple(self.first.shape)}."
            )

    @classmethod
    def all_of(cls, each: int, rows: Sequence[int]) -> "Along":
        """Where pairs of these numbers lie, if every trajectory has so many, one after the other."""
        numbers = torch.as_tensor(list(rows))
        return cls(numbers // each, numbers % each)

    def __len__(self) -> int:
        return len(self.trajectory)

    @property
    def count(self) -> int:
        """How many trajectories there are."""
        return len(self.trajectory.unique())

    @property
    def each(self) -> int:
        """How many pairs a trajectory has, at most."""
        return int(self.trajectory.unique(return_counts=True)[1].max()) if len(self) else 0

    @property
    def starts(self) -> Int[Tensor, "trajectories"]:
        """The first pair of each trajectory."""
        rows = np.lexsort((self.first.numpy(force=True), self.trajectory.numpy(force=True)))
        return torch.from_numpy(rows[np.unique(self.trajectory.numpy(force=True)[rows], return_index=True)[1]])

    def part(self, rows: Sequence[int] | Tensor) -> "Along":
        """Where some of the pairs lie."""
        return replace(self, trajectory=self.trajectory[rows], first=self.first[rows])

    def preceded(self) -> tuple[list[int], list[int]]:
        """The pairs that have another a stride before them, and those others."""
        places = {(int(t), int(k)): row for row, (t, k) in enumerate(zip(self.trajectory, self.first, strict=True))}
        found = [(row, places[t, k - self.stride]) for (t, k), row in places.items() if (t, k - self.stride) in places]
        return [row for row, _ in found], [before for _, before in found]

    def runs(self, rows: Sequence[int]) -> list[list[int]]:
        """These pairs in runs of such as follow one another step by step, each along one trajectory."""
        places = sorted((int(self.trajectory[row]), int(self.first[row]), row) for row in rows)
        breaks = [i for i, (one, other) in enumerate(pairwise(places), 1) if other[:2] != (one[0], one[1] + 1)]
        return [[row for _, _, row in places[start:stop]] for start, stop in pairwise([0, *breaks, len(places)])]
