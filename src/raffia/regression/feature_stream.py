"""The rows of A and of y, a batch of samples at a time, within limits of memory. All forms of statistics are assembled from them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, rows_of, tile_elements, tiles
from raffia.regression.regression_defaults import DEFAULTS
from raffia.spaces import Nodes
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
        """The number of inputs in a batch, chosen so that a tile holds about 128 features."""
        return int(self.batch_size or max(1, self.tile // (min(self.n_features, 128) * points)))


def fits(values: Tensor, device: torch.device) -> bool:
    """Whether values can be moved to a device as a whole: they are there already, or take at most a quarter of its free memory."""
    return values.device.type == device.type or 4 * values.nbytes <= available_memory(device)


def arriving(batches: Iterable[Batch], device: torch.device) -> Iterator[Batch]:
    """Yield the batches on the device. Pinned memory lets a copy overlap with work on the previous batch."""
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


@dataclass(frozen=True, eq=False)
class FeatureStream:
    """Features of a model and outputs on `grid`, evaluated in bounded memory.

    A batch has `batch_size` samples, whose features are evaluated about `tile` elements at a time. The result of `FeatureMap.prepare` is
    cached if it has at most `kept_elements`; otherwise it is computed for each tile.
    """

    feature_map: FeatureMap
    theta: Float[Tensor, "m *theta"]
    grid: Nodes
    """The nodes of the outputs."""
    batch_size: int
    tile: int
    kept_elements: int = 2**25

    @classmethod
    def within(
        cls, workspace: Workspace, feature_map: FeatureMap, theta: Tensor, grid: Nodes, values: Nodes
    ) -> "FeatureStream":
        """With batches and tiles of the sizes that a workspace allows, for features on the nodes `values`."""
        return cls(feature_map, theta, grid, workspace.fit_size(values.size), workspace.tile, workspace.budget)

    def values_at(self, a: Tensor) -> Nodes:
        """The nodes of the features of these inputs. A sample has one row of A for each node."""
        return self.feature_map.values_on(self.feature_map.domain.grid_of(a))

    def weight_at(self, a: Tensor) -> float:
        """The common factor √w of all rows, which may be applied once to the sums; 1 if weights differ."""
        root = self.values_at(a).root_weights
        return float(root) if root.numel() == 1 else 1.0

    def blocks(
        self, a: Tensor, y: Tensor, weighted: bool = True
    ) -> Iterator[tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]]:
        """(Aᵀ, y) of each batch, embedded. With weighted=False, Aᵀ lacks the factor `weight_at`, which saves a pass over the features."""
        values, m = self.values_at(a), len(self.theta)
        weight = self.weight_at(a)
        late = values.root_weights.numel() == 1 and (not weighted or weight == 1.0)
        root = None if late else values.root_weights.to(self.theta)
        for tiled, _, outputs in self.tiled(a, y):
            rows: Tensor | None = None
            for phi, start, _ in tiled:
                rows = rows_of(phi) if root is None and phi.shape[1] == m else _write(rows, phi, start, m, root)
            assert rows is not None  # there is at least one feature
            target = targets_of(self.grid, outputs, values).flatten(0, 1)
            yield rows.reshape(m, -1), target if target.shape[1] > 1 else target[:, 0]

    def tiled(
        self, a: Tensor, y: Tensor, at_once: int | None = None
    ) -> Iterator[tuple[Iterator[tuple[Tensor, int, int]], Tensor, Tensor]]:
        """For each batch: tiles of features φ with the indices of their first feature and sample, then the inputs and the outputs.

        A tile has features of all samples of the batch, or of `at_once` samples.
        """
        input_grid, values, m = self.feature_map.domain.grid_of(a), self.values_at(a), len(self.theta)
        cached = m * sum(part.numel() for part in self.feature_map.prepare(self.theta[:1], input_grid)) <= self.kept_elements
        prepared = self.feature_map.prepare(self.theta, input_grid) if cached else None
        batches: Iterable[tuple[Tensor, ...]] = zip(a.split(self.batch_size), y.split(self.batch_size), strict=True)
        for a_batch, outputs in batches if a.device == self.theta.device else arriving(batches, self.theta.device):
            parts = a_batch.split(at_once or len(a_batch))
            tiled = (
                (phi, start, i * len(parts[0]))
                for i, part in enumerate(parts)
                for phi, start in self._tiles(part, prepared, values)
            )
            yield tiled, a_batch, outputs

    def _tiles(self, a: Tensor, prepared: Prepared | None, values: Nodes) -> Iterator[tuple[Tensor, int]]:
        size = max(1, self.tile // (len(a) * values.size))
        features = None if prepared is None else self.feature_map.precompute(a)
        for part, start in tiles((self.theta,) if prepared is None else prepared, size):
            phi = self.feature_map(a, *part) if features is None else features(part)
            if phi[0, 0].numel() != values.size:
                raise RaffiaError(
                    f"{type(self.feature_map).__name__}.values_on gives {values.size} nodes; a feature has {phi[0, 0].numel()} values. "
                    "Let values_on(grid) return the nodes of φ, or raffia.spaces.POINT for scalar features."
                )
            yield phi, start


def targets_of(grid: Nodes, y: Float[Tensor, "n *output"], values: Nodes) -> Float[Tensor, "n rows columns"]:
    """Embedded outputs: a row for each node of a feature; a column for each channel or, for scalar features, each element."""
    return grid.embed(y).reshape(len(y), -1, values.size).mT


def _write(rows: Tensor | None, phi: Tensor, start: int, m: int, root: Tensor | None) -> Float[Tensor, "m n points"]:
    """Put one tile, embedded, into the rows of its features."""
    n, count = phi.shape[:2]
    if rows is None:
        rows = phi.new_empty(m, n, phi[0, 0].numel())
    values = phi.transpose(0, 1).reshape(count, n, -1)
    if root is None or is_tracked(phi):
        rows[start : start + count] = values if root is None else values * root
    else:
        torch.mul(values, root, out=rows[start : start + count])
    return rows
