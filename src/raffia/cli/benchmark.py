"""raffia benchmark: errors compared with published ones."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from raffia.cli.common import check_output, print_table, write_json
from raffia.cli.console import app, console
from raffia.reproduce.evolution import CASES, RolloutErrors, check_case, compared, published
from raffia.validation import check_device

LATER = 10
"""Steps after which errors are also shown."""

benchmarks = typer.Typer(help="Compare errors, times and sizes of models with published ones.", no_args_is_help=True)
app.add_typer(benchmarks, name="benchmark")


@benchmarks.command("time")
def over_time(
    only: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(CASES)}; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="The number of data sets for each case.")] = 1,
    trajectories: Annotated[int | None, typer.Option(min=1, help="The number of training trajectories.")] = None,
    effort: Annotated[Literal["quick", "normal", "long"], typer.Option(help="10, 60 or 600 seconds for each fit.")] = "normal",
    device: Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")] = "cpu",
    data: Annotated[
        Literal["own", "apebench"], typer.Option(help="apebench is for trajectories that the package APEBench makes.")
    ] = "own",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .json file to write.")] = None,
) -> None:
    """Train models of one time step, apply them again and again, and compare the errors with published ones.

    Example: raffia benchmark time --only burgers --seeds 5
    """
    check_device(device)
    if output is not None:
        check_output(output, [".json"])
    names = only or [name for name, case in CASES.items() if data == "own" or case.scenario]
    for name in names:
        check_case(name, data)
    comparisons: list[RolloutErrors] = []
    for name in names:
        for seed in range(seeds):
            one, _ = compared(name, seed, device, trajectories, data, effort=effort)
            console.print(f"{name}, seed {seed}: {one.words}", soft_wrap=True)
            comparisons.append(one)
    header = ["case", "method", "measure", "error", f"after {LATER} steps", "parameters", "seconds"]
    print_table(_rows(names, comparisons), header, least_width=120)
    for source in dict.fromkeys(f"{published(name)['source']}." for name in names):
        console.print(source, soft_wrap=True)
    if output is not None:
        rows: list[dict[str, object]] = []
        for one in comparisons:
            errors = [error if math.isfinite(error) else None for error in one.errors.tolist()]  # JSON has no others
            rows.append({"case": one.name, "method": one.method, "seconds": one.seconds, "errors": errors})
        write_json(output, rows)


def _rows(names: list[str], comparisons: list[RolloutErrors]) -> Iterator[list[str]]:
    """A row for each model, then one for each that was published."""
    for name in names:
        facts = published(name)
        of_one_step = "" if "one step" in facts["measure"] or CASES[name].averaged else " of one step"
        for one in (one for one in comparisons if one.name == name):
            error = float(one.errors[0]) if one.mean is None else one.mean
            later = f"{float(one.errors[LATER - 1]):.3g}"
            yield [
                name,
                one.method,
                facts["measure"] + of_one_step,
                f"{error:.3g}",
                later,
                str(one.parameters),
                f"{one.seconds:.0f}",
            ]
        for row in facts["rows"]:
            yield [name, f"{row['method']} (published)", facts["measure"], f"{row['error']:.3g}", "", "", ""]
