"""Models of one time step, applied again and again: how errors grow along trajectories held out, and whether values stay bounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Dataset
from raffia.metrics.error_measure import FLOOR
from raffia.model import RandomFeatureModel
from raffia.model.operator import Operator
from raffia.model.time_stepping import Marching, finite_rows
from raffia.spaces import Space

LONGER = 10  # times the steps of a trajectory that a model is followed for, to see whether it stays bounded
GROWN = 10.0  # times the largest value of the data: what is larger has grown without bounds
ALIKE = 0.9  # the correlation of prediction and truth above which they are called alike
FOLLOWED = 8  # trajectories that are followed for long, at most
AT_LENGTH = 2**18  # values on their way, beyond which fewer are followed: the worst two at least


@dataclass(frozen=True, eq=False)
class Rollout:
    """Errors of a model of one step, composed, on trajectories that it had not seen."""

    errors: Float[Tensor, "steps"]
    """The mean relative error after 1, 2, … steps."""
    correlations: Float[Tensor, "steps"]
    """The mean correlation of prediction and truth."""
    trajectories: int
    followed: int
    """For how many steps some of them were followed, beyond the data."""
    bounded: bool
    """Whether all values stayed bounded."""
    truth: Float[Tensor, "some states ..."] | None = None
    """The states of some of these trajectories, from the best to the worst after the last step, for pictures."""
    predicted: Float[Tensor, "some states ..."] | None = None
    space: Space | None = None
    """What states are."""
    lost: int = 0
    """How many of the trajectories are lost before their end, with predictions that are no longer finite."""
    parts_of: int = 0
    """Of how many trajectories these are parts, where they are not whole ones."""

    @property
    def alike(self) -> int:
        """After how many steps prediction and truth are still alike."""
        below = (self.correlations < ALIKE).nonzero()
        return int(below[0]) if len(below) else len(self.correlations)

    @property
    def warnings(self) -> list[str]:
        """Warnings if values grow without bound."""
        growing = "applied again and again, the model gives values that grow without bounds: use it for few steps."
        return [] if self.bounded else [f"{growing} More trajectories, or shorter steps, may help."]

    @property
    def words(self) -> str:
        """The result as a sentence."""
        last = len(self.errors)
        shown = sorted({1, *(step for step in (5, 10, 20, 50, 100, 200) if step < last), last})
        errors = ", ".join(f"{float(self.errors[step - 1]):.3g} after {step}" for step in shown)
        alike = f"for all {last}" if self.alike == last else f"for {self.alike}"
        function = self.space is None or (self.space.dim and not self.space.tabular)
        correlated = f" correlation above {ALIKE:g} {alike} of them;" if function else ""
        end = "values stayed bounded" if self.bounded else "values grew without bounds"
        held = f"{_counted(self.trajectories, 'trajectory', 'trajectories')} held out"
        if self.parts_of:
            parts = _counted(self.trajectories, "part", "parts")
            held = f"{parts} of {_counted(self.parts_of, 'trajectory', 'trajectories')} held out"
        lost = f" predictions for {self.lost} of them did not stay finite;" if self.lost else ""
        return f"applied again and again, on {held}: mean relative error {errors} steps;{correlated}{lost} over {self.followed} steps {end}"


@dataclass(frozen=True, eq=False)
class Paths:
    """Trajectories that are compared with a model: their first inputs, and their states from the newest one in these inputs on."""

    begin: Float[Tensor, "paths ..."]
    states: Float[Tensor, "paths states ..."]
    marching: Marching
    parts_of: int = 0
    """Of how many trajectories these are parts, where they are not whole ones."""

    def followed_by(self, model: RandomFeatureModel) -> Iterator[Tensor]:
        """The states that a model leads to, (paths, *state), as long as any is finite; what is lost is NaN from the next step on."""
        for state in self.marching.path(Operator(model.trained_, model.settings).again, self.begin):
            if not finite_rows(state).any():
                return
            yield state

    def part(self, rows: Sequence[int] | slice) -> "Paths":
        """Some of them."""
        return replace(self, begin=self.begin[rows], states=self.states[rows])


def paths_of(data: Dataset, rows: Sequence[int]) -> Paths | None:
    """Return the paths in these rows, cut to the shortest one, or None if no two states follow one another."""
    if data.along is None:
        return None
    runs = [run[:: data.along.stride] for run in data.along.runs(rows)]
    runs = [run for run in runs if len(run) > 1]
    if not runs:
        return None
    length = min(len(run) for run in runs)
    marching = Marching.of(data.domain, data.output_space, data.along)
    begin, last = data.a[[run[0] for run in runs]], data.y[[run[length - 1] for run in runs]]
    states = [
        marching.newest(begin, marching.channels(last))[:, None],
        torch.stack([marching.states(data.y[run[: length - 1]])[:, 0] for run in runs]),
        marching.states(last),
    ]
    followed = data.along.trajectory[list(rows)].unique()
    cut = int(torch.isin(data.along.trajectory, followed).sum()) > len(rows)
    return Paths(begin, torch.cat([part.to(last.dtype) for part in states], 1), marching, len(followed) if cut else 0)


def rolled_out(model: RandomFeatureModel, paths: Paths, steps: int, outputs: Tensor | None = None) -> Rollout:
    """Follow a model along these paths, and the worst of them for many times as long as a trajectory of so many steps.

    Errors are relative, as in tables: of states smaller than a tenth of the usual training `outputs`, to that.
    """
    truth = paths.states[:, 1:].double()
    reached = [state.double() for state in islice(paths.followed_by(model), 1, paths.states.shape[1])]
    lost = [torch.full_like(truth[:, 0], torch.nan)] * (truth.shape[1] - len(reached))
    predicted = torch.stack([*reached, *lost], 1)
    usual = usual_size(paths.states if outputs is None else paths.marching.states(outputs)) * truth[0, 0].numel() ** 0.5
    errors, finite = errors_along(predicted, truth, FLOOR * usual), finite_rows(predicted)
    order, followed = errors[:, -1].argsort().tolist(), LONGER * steps
    bounded = stays_bounded(model, paths, followed, order[-many(paths, followed) :])
    some = [order[round(place)] for place in torch.linspace(0, len(order) - 1, min(FOLLOWED, len(order))).tolist()]
    return Rollout(
        errors.mean(0), _correlation(predicted, truth).mean(0), len(paths.states), followed, bounded,
        paths.states[some], torch.cat([paths.states[some, :1].double(), predicted[some]], 1), paths.marching.space_of(paths.states),
        int((~finite).sum()), paths.parts_of,
    )  # fmt: skip


def errors_along(predicted: Tensor, truth: Tensor, least: float) -> Float[Tensor, "paths states"]:
    """The error of each state, relative to its size or the `least` that counts, infinite where nothing is predicted."""
    off, size = (_values(f.double()).norm(dim=-1) for f in (predicted - truth, truth))
    return torch.where(off == 0, 0.0, off / size.clamp(min=least)).nan_to_num(torch.inf, torch.inf)


def usual_size(states: Float[Tensor, "paths states ..."]) -> float:
    """Return the root mean square of all values of these states."""
    return float(torch.linalg.vector_norm(states, dtype=torch.float64)) / states.numel() ** 0.5


def usual_value(model: RandomFeatureModel) -> float:
    """Return the root mean square of the training outputs in their largest channel, or 0 if it is unknown."""
    trained = model.trained_
    return 0.0 if trained.sizes is None else float(trained.sizes.values(trained.frame.output_nodes).max())


def many(paths: Paths, steps: int) -> int:
    """Return the number of trajectories that are computed for `steps` steps."""
    return max(2, min(FOLLOWED, AT_LENGTH // (steps * paths.states[0, 0].numel())))


def _correlation(predicted: Tensor, truth: Tensor) -> Tensor:
    """Return the correlation of each predicted state with the true one, or 0 if it is undefined."""
    p, t = (_values(f) - _values(f).mean(-1, keepdim=True) for f in (predicted, truth))
    return ((p * t).sum(-1) / (p.norm(dim=-1) * t.norm(dim=-1)).clamp(min=1e-300)).nan_to_num(0.0)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _values(states: Tensor) -> Tensor:
    """All values of each state: (paths, states, values)."""
    return states.reshape(*states.shape[:2], -1)


def stays_bounded(model: RandomFeatureModel, paths: Paths, steps: int, some: Sequence[int] | slice = slice(None)) -> bool:
    """Return whether values stay below a multiple of the largest in the data, for `steps` steps from the first states of paths."""
    most, reached = GROWN * float(paths.states.abs().max()), 0
    for state in islice(paths.part(some).followed_by(model), steps + 1):
        if not float(state.abs().max()) <= most:
            return False
        reached += 1
    return reached > steps


def grows_anew(model: RandomFeatureModel, paths: Paths | None, rollout: Rollout | None) -> bool:
    """Return whether a model becomes unbounded along paths, although the model of the earlier `rollout` stayed bounded."""
    if paths is None or rollout is None or not rollout.bounded:
        return False
    return not stays_bounded(model, paths, rollout.followed)
