"""Models of one time step of evolution equations, composed, beside networks that others have published numbers of."""

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import write_trajectories
from raffia.errors import RaffiaError
from raffia.problems import GrayScott, NavierStokes, Scenario
from raffia.problems.evolution import Evolution
from raffia.spaces import Domain
from raffia.surrogate import Surrogate, fit

Data = Literal["own", "apebench"]
States = Float[Tensor, "n states *grid"]
MAZE = GrayScott(
    feed=0.029, kill=0.057, domain=Domain(2, extent=2.0), tau=7.5, fine_points=256
)  # The Well's square is [-1, 1]²
FORCED = NavierStokes(viscosity=1e-3)
DECAYING = NavierStokes(viscosity=1e-3, forcing=None, deviation=2.0)


def relative(path: States, truth: States) -> Float[Tensor, "n steps"]:
    """‖prediction − truth‖ / ‖truth‖ after each step."""
    off, size = (f[:, 1:].flatten(2).norm(dim=-1) for f in (path - truth, truth))
    return off / size


def in_deviations(path: States, truth: States) -> Float[Tensor, "n steps"]:
    """VRMSE: the error in deviations of the truth over its grid, averaged over channels."""
    axes = tuple(range(-2, 0))
    mean = truth[:, 1:].mean(axes, keepdim=True)
    square = ((path - truth)[:, 1:]).square().mean(axes)
    return (square / (truth[:, 1:] - mean).square().mean(axes).clamp(min=1e-7)).sqrt().mean(2)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An equation, how its trajectories are drawn, and what errors are counted in."""

    problem: Evolution
    points: int
    dt: float
    trajectories: int
    steps: int
    tests: int
    followed: int
    """Steps of the trajectories that models are tested on."""
    shown: tuple[int, ...]
    """After how many steps errors are shown."""
    errors: Callable[[States, States], Tensor] = relative
    averaged: int = 0
    """Steps that a geometric mean of mean errors is taken over; none if 0."""
    scenario: str = ""
    """The name of the same data in the package APEBench, if it has them."""


APEBENCH = Case(
    problem=Scenario(), points=160, dt=1.0, trajectories=50, steps=50, tests=30, followed=200, shown=(1, 100, 200), averaged=100
)
FLOW = Case(problem=FORCED, points=64, dt=1.0, trajectories=200, steps=20, tests=20, followed=40, shown=(1, 5, 10, 20, 40))
CASES = {
    "burgers": replace(APEBENCH, scenario="diff_burgers"),
    "kdv": replace(APEBENCH, problem=Scenario((0.0, 0.0, 0.0, -14.0, -9.0), 2.0), scenario="diff_kdv"),
    "ks": replace(APEBENCH, problem=Scenario((0.0, 0.0, -2.0, 0.0, -18.0), 1.0, warm_up=500), scenario="diff_ks_cons"),
    "navier-stokes": replace(
        FLOW, problem=DECAYING, dt=0.1, trajectories=100, steps=10, followed=100, shown=(1, 5, 10, 30, 100)
    ),
    "navier-stokes-forced": FLOW,
    "gray-scott": Case(
        problem=MAZE,
        points=128,
        dt=10.0,
        trajectories=20,
        steps=20,
        tests=5,
        followed=20,
        shown=(1, 5, 10, 20),
        errors=in_deviations,
    ),
}
"""Three of APEBench's scenarios, two-dimensional flows, and a reaction with the parameters of The Well."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RolloutErrors:
    """How a model did on one case."""

    name: str
    method: str
    errors: Float[Tensor, "steps"]
    """The mean over test trajectories, after each step."""
    seconds: float
    parameters: int

    @property
    def mean(self) -> float | None:
        """The geometric mean of errors, where one is taken."""
        averaged = CASES[self.name].averaged
        return float(self.errors[:averaged].log().mean().exp()) if averaged else None

    @property
    def words(self) -> str:
        """What came of it, in a line."""
        shown = ", ".join(f"{float(self.errors[step - 1]):.3g} after {step}" for step in CASES[self.name].shown)
        mean = "" if self.mean is None else f"geometric mean over {CASES[self.name].averaged} steps {self.mean:.2e}; "
        end = "" if bool((self.errors < 10).all()) else "; values grew without bounds"  # NaN is not below 10
        return f"{self.method}, {self.parameters} numbers, {self.seconds:.1f} s: {mean}{shown}{end}"


def published(name: str) -> dict[str, Any]:
    """What others have published of a case, with the source."""
    return json.loads(files("raffia.reproduce").joinpath("published.json").read_text())[name]


def check_case(name: str, data: Data = "own") -> None:
    """Refuse names of no case, and of cases that APEBench does not have."""
    known = [known for known, case in CASES.items() if data == "own" or case.scenario]
    if name not in known:
        raise RaffiaError(f"--only must be one of {', '.join(known)} with --data {data}; got {name!r}.")


def drawn(name: str, seed: int, trajectories: int | None = None, data: Data = "own") -> tuple[Tensor, Tensor]:
    """Trajectories to train on and others to test on: functions of the case and the seed alone.

    Those of the package APEBench are in single precision, and its tests have one seed.
    """
    case = CASES[name]
    if data == "own":
        train = case.problem.trajectories(trajectories or case.trajectories, case.points, case.steps, case.dt, seed=10 * seed)
        return train, case.problem.trajectories(case.tests, case.points, case.followed, case.dt, seed=10 * seed + 1)
    try:
        from apebench.scenarios import scenario_dict
    except ImportError:
        raise RaffiaError("APEBench's own data need its package: pip install apebench.") from None
    scenario = scenario_dict[case.scenario](train_seed=seed)
    train, test = (torch.from_numpy(np.array(part)[:, :, 0]) for part in (scenario.get_train_data(), scenario.get_test_data()))
    return train, test


def followed(name: str, method: str, path: States, test: States, seconds: float, parameters: int) -> RolloutErrors:
    """The errors of paths from the beginnings of test trajectories."""
    errors = CASES[name].errors(path.to(test), test).mean(0).cpu()
    return RolloutErrors(name=name, method=method, errors=errors, seconds=seconds, parameters=parameters)


def compared(
    name: str, seed: int, device: str | None = None, trajectories: int | None = None, data: Data = "own", **settings: Any
) -> tuple[RolloutErrors, Surrogate]:
    """raffia's model of one step, from a file of trajectories as users have them, on trajectories of another seed."""
    case, (train, test) = CASES[name], drawn(name, seed, trajectories, data)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.npz"
        write_trajectories(path, train, case.problem.domain.grid(case.points), case.dt, {})
        surrogate = fit(path, seed=seed, device=device, **settings)
    seconds = time.perf_counter() - begun
    method = "given features" if surrogate.contest is None else surrogate.contest.best.candidate.name
    states = torch.as_tensor(surrogate.model.rollout(test[:, 0], test.shape[1] - 1))
    return followed(name, f"raffia, {method}", states, test, seconds, surrogate.model.coef_.numel()), surrogate
