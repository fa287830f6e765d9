"""raffia generate: pairs of a benchmark problem, in a file."""

from pathlib import Path
from typing import Annotated

import typer

from raffia import data
from raffia.cli.common import Example, app, check_output, console, generate_in_batches
from raffia.errors import RaffiaError
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem


@app.command()
def generate(
    problem: Annotated[Example, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    n: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 512,
    points: Annotated[int, typer.Option(min=1, max=2**40, help="Grid points along an axis.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed; pair i is a function of (seed, i).")] = 0,
    viscosity: Annotated[float, typer.Option(help="Burgers: viscosity.")] = 0.01,
    final_time: Annotated[float, typer.Option("--time", help="Burgers: final time.")] = 1.0,
    low: Annotated[float, typer.Option(help="Darcy: lower value of the permeability.")] = 3.0,
    high: Annotated[float, typer.Option(help="Darcy: upper value of the permeability.")] = 12.0,
    fine_points: Annotated[
        int | None, typer.Option(min=3, max=2**40, help="Points along an axis to solve on, at least.")
    ] = None,
) -> None:
    """Generate input-output pairs of a benchmark problem.

    Example: raffia generate burgers --n 512 --points 128 --output train.npz
    """
    chosen: Problem = {
        Example.burgers: Burgers(viscosity=viscosity, time=final_time),
        Example.darcy: Darcy(low=low, high=high),
        Example.bridge: BridgeRegression(),
    }[problem]
    if fine_points is not None:
        if problem is Example.bridge:
            raise RaffiaError("--fine-points is for problems on grids: burgers and darcy.")
        chosen.set_params(fine_points=fine_points)
    check_output(output, ".npz")
    dataset = generate_in_batches(chosen, n, points, seed)
    data.write(output, dataset)
    console.print(f"wrote {len(dataset)} pairs, a {tuple(dataset.a.shape)} and y {tuple(dataset.y.shape)}, to {output}")
