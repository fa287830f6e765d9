"""Which pairs are held out: at random, by whole groups, or in blocks of consecutive rows; and how near they are to the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from raffia.data import Along, Dataset, Source
from raffia.data.opening import labels_in
from raffia.errors import RaffiaError
from raffia.model.preprocessing import Scaling
from raffia.model.splitting import Nearness, blocks_of, groups_of, nearness, split, together

BLOCKS = 2  # that the pairs held out are in, where they are in blocks


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of pairs that are held out together: an index for each pair, and the names of groups unless they are blocks of rows."""

    numbers: Int[Tensor, "n"]
    names: list[str] | None = None
    kind: str = "groups"

    @classmethod
    def by_trajectories(cls, along: Along | None, n: int, count: int) -> "Groups | None":
        """Whole trajectories; of a single one, blocks of consecutive steps."""
        if along is None:
            return None
        single = along.count == 1
        made = groups_for(None if single else along.trajectory.numpy(force=True), single, n, count)
        return None if made is None else replace(made, kind="trajectories")

    def linked(self, data: Dataset) -> Int[Tensor, "n"]:
        """Return labels in which groups that share copies of an input are merged.

        Along trajectories, their beginnings count: many come to the same states in the end.
        """
        starts = torch.arange(len(data)) if data.along is None else data.along.starts
        own = self.numbers[starts]
        joined = torch.arange(int(self.numbers.max()) + 1)
        joined[own] = own[together(groups_of(data.a[starts]), own)]
        return joined[self.numbers]

    def part(self, rows: list[int]) -> "Groups":
        """The groups of some of the pairs."""
        return replace(self, numbers=self.numbers[rows])

    def of(self, rows: list[int]) -> list[str] | None:
        """The names of the groups of some pairs."""
        return None if self.names is None else [self.names[number] for number in self.numbers[rows].tolist()]

    def in_words(self, held: Int[Tensor, "held"]) -> str:
        """The way in which these pairs were held out, in words."""
        if self.names is None:
            return "in blocks of consecutive rows"
        return f"in whole {self.kind} ({len(self.numbers[held].unique())} of {len(self.names)})"


@dataclass(frozen=True, eq=False)
class Holding:
    """A split into held-out and training pairs, given by their indices, and the way in which it was made."""

    held: list[int]
    train: list[int]
    how: str
    notes: list[str] = field(default_factory=list)
    nearness: Nearness | None = None
    labels: Int[Tensor, "train"] | None = None
    """Groups of the pairs to train on, which contests hold out whole too."""

    @property
    def words(self) -> str:
        """The number of held-out pairs and the way they were chosen, in words."""
        return f"{len(self.held)} of {len(self.held) + len(self.train)} pairs {self.how}" if self.held else self.how

    def part(self, rows: list[int]) -> "Holding":
        """The same, where there are these pairs only, in their order."""
        new = {row: i for i, row in enumerate(rows)}
        held, kept = ([row for row in side if row in new] for side in (self.held, self.train))
        inside = None if self.labels is None else self.labels[[i for i, row in enumerate(self.train) if row in new]]
        return replace(self, held=[new[row] for row in held], train=[new[row] for row in kept], labels=inside)


def labels_for(groups: Any, source: Source | None) -> np.ndarray | None:
    """Labels as an array: as given, or by the name of an array in the file."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape or labels.dtype.kind != "U":
        return labels
    if source is None:
        raise RaffiaError(f"groups={str(groups)!r} names an array of a file, and data are none: pass the labels themselves.")
    return labels_in(source, str(groups))


def spread(labels: np.ndarray | None, along: Along | None) -> np.ndarray | None:
    """Return a label for each pair, from labels of pairs or of trajectories."""
    if labels is None or along is None or labels.size == len(along) or labels.size != along.count:
        return labels
    return labels.reshape(-1)[along.trajectory.unique(return_inverse=True)[1].numpy(force=True)]


def groups_for(labels: np.ndarray | None, blocks: bool, n: int, count: int) -> Groups | None:
    """Return the groups of n pairs: by labels, or blocks of consecutive rows whose size suits `count` held-out pairs."""
    if blocks:
        if labels is not None:
            raise RaffiaError(
                "groups=… (--groups) and blocks=True (--blocks) both say what is held out together: pass one of them."
            )
        return Groups(blocks_of(n, max(1, (count or n // 5) // BLOCKS)))
    if labels is None:
        return None
    if labels.size != n or labels.shape.count(1) < labels.ndim - 1:
        raise RaffiaError(
            f"groups=… (--groups) must be one label for each of {n} pairs, or of all trajectories; got shape {labels.shape}."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise RaffiaError("groups=… (--groups) must say the group of every pair; some are missing (NaN or infinite).")
    names, numbers = np.unique(labels.reshape(-1), return_inverse=True)
    if count and len(names) < 2:
        raise RaffiaError(
            "groups=… (--groups) must be two groups or more, one to hold out and one to train on; all pairs are of one."
        )
    return Groups(torch.from_numpy(numbers.reshape(-1)), [str(name) for name in names])


def hold(data: Dataset, count: int, seed: int, groups: Groups | None) -> Holding:
    """Hold out about `count` pairs, whole groups of them where there are any."""
    n, labels = len(data), None if groups is None else groups.linked(data)
    held_rows, others, copies = split(data.a, count, seed, "held out", labels)
    held, train = held_rows.sort().values, others.sort().values
    if not count:
        return Holding([], list(range(n)), "all pairs were used for training", labels=labels)
    how = "at random" if groups is None else groups.in_words(held)
    near = nearness(scaled(data), held, train) if data.a.ndim == 1 + data.domain.ndim else None  # or training refuses them
    inside = None if labels is None else labels[train]
    return Holding(held.tolist(), train.tolist(), f"{how}, seed {seed}", [copies] if copies else [], near, inside)


def scaled(data: Dataset) -> Tensor:
    """Inputs in units that compare: of the deviations of each channel or component."""
    inputs = data.a if data.a.is_floating_point() else data.a.double()
    return Scaling.of(inputs, data.domain).apply(inputs)


def known(train: Dataset, test: Dataset) -> str:
    """Return a warning about test inputs that are also training inputs, if there are any."""
    if train.a.shape[1:] != test.a.shape[1:]:
        return ""
    groups = groups_of(torch.cat([train.a.double(), test.a.double()]))
    copies = int((groups[len(train) :] < len(train)).sum())
    return f"{copies} of {len(test)} inputs of the test are in the training data too, or nearly." if copies else ""


def gap_warnings(near: Nearness | None, random: bool, tabular: bool, error: float | None) -> Sequence[str]:
    """Return warnings if held-out inputs are so close to training inputs that errors are too small for other inputs.

    `error` is the mean relative error on held-out blocks of consecutive rows, or None.
    """
    if near is None or not random:
        return []
    far = f"{100 * near.distance:.2g} % of the usual distance between inputs"
    if near.in_order:
        beside = "" if error is None else f" Of blocks of consecutive rows held out, the mean relative error is {error:.3g}."
        return [
            f"rows follow one another: for {100 * near.beside:.0f} % of the inputs held out the nearest one trained on is a row beside "
            f"them, at {far}. Errors of pairs held out at random are of inputs between known ones.{beside} Hold out whole runs or "
            "trajectories by --groups NAME (groups=…), or blocks by --blocks (blocks=True)."
        ]
    if near.close and not tabular:
        return [
            f"inputs held out are nearly known: the nearest one trained on is at {far}. Errors say little of inputs further away. If "
            "they are of the same runs or trajectories, hold these out whole: --groups NAME (groups=…)."
        ]
    return []


def count_of(held_out: float | int, n: int) -> int:
    """How many pairs a share, or a number of them, is."""
    if not np.isfinite(held_out) or held_out < 0 or (held_out >= 1 and held_out != int(held_out)):
        raise RaffiaError(f"held_out must be a share below 1 or a whole number of pairs; got {held_out!r}.")
    count = int(held_out) if held_out >= 1 else round(held_out * n)
    if n < 2:
        raise RaffiaError(
            f"a model is learnt from two pairs at least, and the data have {n}: a file of VTK, say, holds one sample."
        )
    if count > n - 2:
        raise RaffiaError(f"held_out={held_out:g} leaves {n - count} of {n} pairs to train on: hold out fewer.")
    return count


def check_test(test: Dataset, data: Dataset) -> None:
    """Refuse test data of another kind than the training data."""
    for name, one, other in (("inputs", test.domain, data.domain), ("outputs", test.output, data.output)):
        if one != other:
            raise RaffiaError(f"the test data have {name} in {one}, the training data in {other}: they must be of one kind.")
    if test.along is None or data.along is None:
        return
    for name in ("stride", "window", "horizon", "fixed"):
        theirs, ours = getattr(test.along, name), getattr(data.along, name)
        if theirs != ours:
            of = "numbers that are fixed along trajectories" if name == "fixed" else f"a {name}"
            raise RaffiaError(
                f"test=… (--test) has pairs with {of} of {theirs}, the data have {ours}: a model of one kind of steps is tested on that "
                f"kind. Make both with the same {'parameters' if name == 'fixed' else name}."
            )
