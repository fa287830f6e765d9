"""raffia generate: pairs or trajectories of a benchmark problem, in a file."""

import ast
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from raffia import data, problems
from raffia.cli.common import batches, check_output, generate_in_batches
from raffia.cli.console import app, console
from raffia.errors import RaffiaError
from raffia.problems import Evolution, Problem
from raffia.problems.parameters import check, check_parameters, hints_of

PROBLEMS: dict[str, type[Problem]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "-", name.removesuffix("Regression")).lower(): getattr(problems, name)
    for name in problems.__all__
    if issubclass(getattr(problems, name), Problem) and name != "Problem"
}
"""By their names, KortewegDeVries as korteweg-de-vries."""
PAIRS, STEPS = 512, 50
"""Pairs, and steps of a trajectory, by default."""
Name = StrEnum("Name", list(PROBLEMS))  # type: ignore[misc]


@app.command()
def generate(
    problem: Annotated[Name, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    n: Annotated[int | None, typer.Option(min=1, help=f"Number of pairs; {PAIRS} by default.")] = None,
    points: Annotated[int, typer.Option(min=1, max=2**40, help="Grid points along an axis.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed; pair i is a function of (seed, i).")] = 0,
    trajectories: Annotated[
        int | None, typer.Option(min=1, help="Number of trajectories, in place of pairs: u(0), u(Δt), u(2Δt), ….")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, max=2**40, help=f"Steps of a trajectory; {STEPS} by default.")] = None,
    dt: Annotated[
        float | None, typer.Option(help="Time between states of a trajectory; the problem's time by default.")
    ] = None,
    final_time: Annotated[float | None, typer.Option("--time", help="Final time, where there is one.")] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="Any other parameter of the problem, as NAME=VALUE; once for each.")
    ] = None,
) -> None:
    """Generate input-output pairs, or trajectories, of a benchmark problem.

    Example: raffia generate burgers --n 512 --points 128 --output train.npz
    """
    if n is not None and trajectories is not None:
        raise RaffiaError(f"--n {n} asks for pairs and --trajectories {trajectories} for trajectories. Pass one of them.")
    if trajectories is None and (steps, dt) != (None, None):
        raise RaffiaError("--steps and --dt are for trajectories. Pass their number too, e.g. --trajectories 16.")
    chosen = PROBLEMS[problem]()
    if final_time is not None:
        _set(chosen, "time", final_time, "--time")
    for words in parameter or []:
        name, _, text = words.partition("=")
        _set(chosen, name, _value(text), f"--set {name}")
    check_parameters(chosen)
    check_output(output, [".npz"])
    if trajectories is None:
        dataset = generate_in_batches(chosen, n or PAIRS, points, seed)
        data.write(output, dataset)
        console.print(f"wrote {len(dataset)} pairs, a {tuple(dataset.a.shape)} and y {tuple(dataset.y.shape)}, to {output}")
        return
    if not isinstance(chosen, Evolution):
        raise RaffiaError(f"--trajectories is for time-dependent problems, which {type(chosen).__name__} is not.")
    if dt is not None:
        chosen.check_step(dt, "--dt")
    steps, dt = steps or STEPS, float(chosen.times[-1]) if dt is None else dt
    parts = [chosen.trajectories(rows, points, steps, dt, seed) for rows in batches("generating", trajectories, 128)]
    u, grid = torch.cat(parts), chosen.domain.grid(points)
    settings = chosen.settings(range(trajectories), grid, seed) | {"steps": steps, "dt": dt}
    data.write_trajectories(output, u, grid, dt, settings)
    console.print(f"wrote {trajectories} trajectories, u {tuple(u.shape)}, to {output}")


def _set(problem: Problem, name: str, value: Any, option: str) -> None:
    known = sorted(problem.get_params(deep=False))
    if name not in known:
        raise RaffiaError(f"{option}: {type(problem).__name__} has no {name}, but {', '.join(known)}.")
    check(f"{option}: {type(problem).__name__}({name}=…)", hints_of(type(problem))[name], value)
    problem.set_params(**{name: value})


def _value(text: str) -> Any:
    """A number, True, None or a tuple as Python writes them; other words as they are."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
