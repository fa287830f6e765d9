"""What raffia fit prints about a surrogate, and the report that it writes."""

import shlex
import sys
from pathlib import Path

from raffia.cli.common import print_table
from raffia.cli.console import console
from raffia.data import Source
from raffia.metrics import Errors
from raffia.model.coefficients import coefficients_of
from raffia.report import contest_title, report, ridge_in_words
from raffia.surrogate import Surrogate

MOST_LISTED = 16  # channels or components whose errors are printed


def note(text: str) -> None:
    """Print a note about the data or the fit."""
    console.print(text, style="dim", soft_wrap=True)


def print_summary(surrogate: Surrogate, file: Path) -> None:
    """Print the contest, the errors, those of simple predictions, and where the model was written."""
    if surrogate.contest is not None:
        print_table(surrogate.contest.rows, surrogate.contest.header, contest_title(surrogate.contest))
        if surrogate.plan is not None:
            console.print(f"plan of {surrogate.plan.words}; {surrogate.plan.beyond}", style="dim", soft_wrap=True)
    elif surrogate.history is not None:
        console.print(surrogate.history.summary, soft_wrap=True)
        console.print(f"found {surrogate.history.found}", soft_wrap=True)
    model = surrogate.model
    if surrogate.measured is not None:
        count = len(surrogate.measured.relative)
        how = "of the test" if surrogate.rows is None else "left out in turn" if surrogate.in_turn else "held out"
        where = f"{count} pairs {how}"
        rows = [
            [name, *_in_numbers(errors)] for name, errors in {"this model": surrogate.measured, **surrogate.simpler}.items()
        ]
        print_table(rows, ["", "relative L2 error", "worst", "in deviations"], f"mean errors on {where}")
        if 1 < surrogate.measured.channels.shape[1] <= MOST_LISTED:
            each = ", ".join(f"{error:.3g}" for error in surrogate.measured.channels.mean(0).tolist())
            console.print(f"relative L2 errors by channel or component: {each}", soft_wrap=True)
        expected = f"mean relative error {float(surrogate.measured.relative.mean()):.3g} on {where}"
        if surrogate.rollout is not None:
            console.print(surrogate.rollout.words, soft_wrap=True)
    elif hasattr(model, "loo_error_"):
        unit = model.trained_.frame.measure.unit
        expected = f"expected error {model.loo_error_:.4f}{unit and f' {unit}'} (leave-one-out)"
    else:
        expected = f"training error {coefficients_of(model.settings).training_error(model.trained_):.4f}"
    trained = f"trained on {model.equations_.n_samples} pairs in {surrogate.seconds:.1f} s"
    console.print(f"{trained}, ridge {ridge_in_words(model.ridge_, '.1e')}, {expected}; wrote {file}", soft_wrap=True)


def write_page(surrogate: Surrogate, file: Path, source: Source, seed: int, level: float | None) -> None:
    """Write the report, with the data, the command and the seed among its facts."""
    data = f"{source.path}, {surrogate.n_pairs} pairs"
    facts = {"data": data, "command": "raffia " + shlex.join(sys.argv[1:]), "seed": str(seed)}
    title = f"A surrogate of {source.path.name}"
    page = file.with_suffix(".html")
    report(surrogate, page, title=title, model_file=file, facts=facts, notes=source.notes, level=level)
    console.print(f"report: {page}", soft_wrap=True)


def _in_numbers(errors: Errors) -> list[str]:
    return [f"{value:.3g}" for value in (errors.relative.mean(), errors.relative.max(), errors.deviations.mean())]
