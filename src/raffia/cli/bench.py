"""raffia bench: times compared with the limits of the machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

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
    formats: dict[str, Callable[[Any], str]] = {
        "what": str,
        "sizes": str,
        "seconds": "{:.4g}".format,
        "rate": str,
        "ceiling": str,
        "fraction": "{:.0%}".format,
        "peak_memory": lambda size: f"{size / 2**30:.2f} GiB",
    }
    rows = [[write(row[name]) for name, write in formats.items()] for row in report["rows"]]
    header = ["what", "sizes", "seconds", "rate", "ceiling", "of ceiling", "peak memory"]
    print_table(rows, header, least_width=120)
    if output is not None:
        write_json(output, report)
