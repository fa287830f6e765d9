"""What raffia fit says of a surrogate, and the page that it writes."""

import shlex
import sys
from pathlib import Path

from rich.table import Table as Printed

from raffia import pages
from raffia.cli.console import console
from raffia.data import Source
from raffia.metrics import Errors
from raffia.model.coefficients import coefficients_of
from raffia.pages import ridge_in_words
from raffia.surrogate import Surrogate

MOST_LISTED = 16  # channels or components whose errors are printed


def note(text: str) -> None:
    """Print what was guessed or noticed."""
    console.print(text, style="dim", soft_wrap=True)


def say(found: Surrogate, file: Path) -> None:
    """Print the contest, the errors beside those of what is simpler, and where the model is."""
    if found.contest is not None:
        console.print(_printed(found.contest.header, found.contest.rows, pages.title_of(found.contest)))
    elif found.history is not None:
        console.print(found.history.summary, soft_wrap=True)
        console.print(f"found {found.history.found}", soft_wrap=True)
    model = found.model
    if found.measured is not None:
        count = len(found.measured.relative)
        how = "of the test" if found.rows is None else "left out in turn" if found.in_turn else "held out"
        where = f"{count} pairs {how}"
        rows = [[name, *_in_numbers(errors)] for name, errors in {"this model": found.measured, **found.simpler}.items()]
        console.print(_printed(["", "relative L2 error", "worst", "in deviations"], rows, f"mean errors on {where}"))
        if 1 < found.measured.channels.shape[1] <= MOST_LISTED:
            each = ", ".join(f"{error:.3g}" for error in found.measured.channels.mean(0).tolist())
            console.print(f"relative L2 errors by channel or component: {each}", soft_wrap=True)
        expected = f"mean relative error {float(found.measured.relative.mean()):.3g} on {where}"
        if found.rollout is not None:
            console.print(found.rollout.words, soft_wrap=True)
    elif hasattr(model, "loo_error_"):
        unit = model.trained_.frame.measure.unit
        expected = f"expected error {model.loo_error_:.4f}{unit and f' {unit}'} (leave-one-out)"
    else:
        expected = f"training error {coefficients_of(model.settings).training_error(model.trained_):.4f}"
    trained = f"trained on {model.equations_.n_samples} pairs in {found.seconds:.1f} s"
    console.print(f"{trained}, ridge {ridge_in_words(model.ridge_, '.1e')}, {expected}; wrote {file}", soft_wrap=True)


def band_in_words(found: Surrogate, level: float) -> str:
    """The half-widths of the band, in the units of the outputs."""
    widths = found.half_widths(level)
    many = (
        f"{min(widths):.3g} to {max(widths):.3g}, by component," if len(widths) > 4 else ", ".join(f"{w:.3g}" for w in widths)
    )
    each = f" (one for each of {len(widths)} components)" if 1 < len(widths) <= 4 else ""
    return (
        f"band of {100 * level:g} %: with at least this probability a new output lies, as a whole, within ± {many}{each} of its "
        f"prediction, by {len(found.model.trained_.scores)} pairs that training had not seen"
    )


def write_page(found: Surrogate, page: Path, file: Path, pairs: Source, seed: int, band: str | None, level: float) -> None:
    """Write the report; pictures have the band of this level, where enough pairs were held out for it."""
    count = found.n_pairs
    known = {"data": f"{pairs.path}, {count} pairs", "command": "raffia " + shlex.join(sys.argv[1:]), "seed": str(seed)}
    pages.write_page(found, page, file, f"A surrogate of {pairs.path.name}", known, pairs.notes, band, level)


def _in_numbers(errors: Errors) -> list[str]:
    return [f"{value:.3g}" for value in (errors.relative.mean(), errors.relative.max(), errors.deviations.mean())]


def _printed(header: list[str], rows: list[list[str]], title: str) -> Printed:
    table = Printed(*header, title=title)
    for row in rows:
        table.add_row(*row)
    return table
