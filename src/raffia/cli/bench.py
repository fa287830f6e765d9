"""raffia bench: times compared with the limits of the machine."""

from pathlib import Path
from typing import Annotated

import typer

from raffia.bench import Bench
from raffia.cli.common import check_output, print_table, working, write_json
from raffia.cli.console import app, console
from raffia.validation import check_device


@app.command()
def bench(
    device: Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, a few seconds.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .json file to write.")] = None,
) -> None:
    """Measure assembly, solution, prediction and tuning against the limits of this machine.

    Example: raffia bench --quick
    """
    check_device(device)
    if output is not None:
        check_output(output, [".json"])
    with working("measuring"):
        report = Bench(device, quick).report()
    rates = report["ceilings"]
    console.print(
        f"{report['device']}, {report['name']}, float64: matrix product {rates['gemm'] / 1e9:.0f} GFLOP/s, "
        f"copy {rates['copy'] / 1e9:.0f} GB/s, inverse FFT {rates['fft'] / 1e9:.2f} G numbers/s"
    )
    rows = [[value if type(value) is str else f"{value:.4g}" for value in row.values()] for row in report["rows"]]
    print_table(rows, [name.replace("_", " ") for name in report["rows"][0]], least_width=120)
    if output is not None:
        write_json(output, report)
