"""raffia reproduce: the tables and figures of the paper, compared with ours on a page."""

from pathlib import Path
from typing import Annotated

import typer

from raffia.cli.common import make_folder, print_table
from raffia.cli.console import app, console
from raffia.reproduce import Lab, Scale, chosen, run
from raffia.validation import check_device


@app.command()
def reproduce(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="A label of the paper such as tab:time_upscale, or all.")] = "all",
    scale: Annotated[Scale, typer.Option(help="quick: fewer tests, minutes on two cores; paper: all of them.")] = "quick",
    device: Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")] = "cpu",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page and the results.")] = Path("report"),
) -> None:
    """Compute the results of Nelsen and Stuart (2024) that are not there yet, and write a page that shows theirs and ours.

    Example: raffia reproduce tab:time_upscale --scale quick
    """
    check_device(device)
    items, lab = chosen(item), Lab(scale, device)
    make_folder(output)
    for result, cached in run(items, lab, output):
        console.print(f"{result.item}: {'already there' if cached else f'{result.seconds:.1f} s'}", soft_wrap=True)
        print_table([name, f"{value:.4g}"] for name, value in result.numbers.items())
    console.print(f"Page: {output / 'index.html'}", soft_wrap=True)
