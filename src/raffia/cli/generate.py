"""raffia generate: pairs or trajectories of a benchmark problem, in a file."""

import ast
import re
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import torch
import typer

from raffia import data, problems
from raffia.cli.common import app, batches, check_output, console, generate_in_batches
from raffia.errors import RaffiaError
from raffia.problems import Evolution, Problem

PROBLEMS: dict[str, type[Problem]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "-", name.removesuffix("Regression")).lower(): getattr(problems, name)
    for name in problems.__all__
    if issubclass(getattr(problems, name), Problem) and name != "Problem"
}
"""By their names, KortewegDeVries as korteweg-de-vries."""
Name = StrEnum("Name", list(PROBLEMS))  # type: ignore[misc]


@app.command()
def generate(
    problem: Annotated[Name, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    n: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 512,
    points: Annotated[int, typer.Option(min=1, max=2**40, help="Grid points along an axis.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed; pair i is a function of (seed, i).")] = 0,
    trajectories: Annotated[
        int | None, typer.Option(min=1, help="Number of trajectories, in place of pairs: u(0), u(Δt), u(2Δt), ….")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a trajectory.")] = 50,
    dt: Annotated[
        float | None, typer.Option(help="Time between states of a trajectory; the problem's time, if not said.")
    ] = None,
    viscosity: Annotated[float | None, typer.Option(help="Viscosity, where there is one.")] = None,
    final_time: Annotated[float | None, typer.Option("--time", help="Final time, where there is one.")] = None,
    low: Annotated[float | None, typer.Option(help="Darcy: lower value of the permeability.")] = None,
    high: Annotated[float | None, typer.Option(help="Darcy: upper value of the permeability.")] = None,
    fine_points: Annotated[
        int | None, typer.Option(min=3, max=2**40, help="Points along an axis to solve on, at least.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="Any other parameter of the problem, as NAME=VALUE; once for each.")
    ] = None,
) -> None:
    """Generate input-output pairs, or trajectories, of a benchmark problem.

    Example: raffia generate burgers --n 512 --points 128 --output train.npz
    """
    chosen = PROBLEMS[problem]()
    given = {"viscosity": viscosity, "time": final_time, "low": low, "high": high, "fine_points": fine_points}
    for name, value in {key: value for key, value in given.items() if value is not None}.items():
        _set(chosen, name, value, f"--{name.replace('_', '-')}")
    for words in parameter or []:
        name, _, text = words.partition("=")
        _set(chosen, name, _value(text), f"--set {name}")
    check_output(output, ".npz")
    if trajectories is not None:
        return _write_trajectories(chosen, trajectories, points, steps, dt, seed, output)
    dataset = generate_in_batches(chosen, n, points, seed)
    data.write(output, dataset)
    console.print(f"wrote {len(dataset)} pairs, a {tuple(dataset.a.shape)} and y {tuple(dataset.y.shape)}, to {output}")


def _write_trajectories(problem: Problem, n: int, points: int, steps: int, dt: float | None, seed: int, output: Path) -> None:
    if not isinstance(problem, Evolution):
        raise RaffiaError(f"--trajectories is for problems with a time; {type(problem).__name__} has none.")
    dt = problem.times[-1] if dt is None else dt
    parts = [problem.trajectories(rows, points, steps, dt, seed) for rows in batches("generating", n, 128)]
    u, grid = torch.cat(parts), problem.domain.grid(points)
    data.write_trajectories(output, u, grid, dt, problem.settings(range(n), grid, seed) | {"steps": steps, "dt": dt})
    console.print(f"wrote {n} trajectories, u {tuple(u.shape)}, to {output}")


def _set(problem: Problem, name: str, value: Any, option: str) -> None:
    known = sorted(problem.get_params(deep=False))
    if name not in known:
        raise RaffiaError(f"{option}: {type(problem).__name__} has no {name}, but {', '.join(known)}.")
    hint = get_type_hints(type(problem))[name]
    if not _admits(hint, value):
        present = getattr(problem, name)
        raise RaffiaError(
            f"{option}: {value!r} is no value for {name} of {type(problem).__name__}, which is {present!r} if not said."
        )
    problem.set_params(**{name: value})


def _admits(hint: Any, value: Any) -> bool:
    """Whether a value from the command line is of a kind that an annotation names."""
    if get_origin(hint) in (Union, UnionType):
        return any(_admits(option, value) for option in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return type(value) is tuple and all(_admits(float, part) for part in value)
    if hint is float:
        return type(value) in (int, float)
    return hint in (int, str, bool, type(None)) and type(value) is hint


def _value(text: str) -> Any:
    """A number, True, None or a tuple as Python writes them; other words as they are."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
