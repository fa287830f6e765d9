"""Errors along grids, samples and features, for either problem (fig:gridtranfser_burg, fig:gridsweep_burg and those for Darcy flow)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from raffia import papers
from raffia.report import Picture, Table
from raffia.reproduce.lab import AUTHORS, Lab
from raffia.reproduce.pictures import compare, panels
from raffia.reproduce.result import Result, mean_and_range, percent

Arrays = tuple[np.ndarray, np.ndarray]
Curves = dict[int, dict[int, list[float]]]
"""By source of the draws, then by m: one value a grid."""


def transferred(lab: Lab, problem: str, source: int, sweep: papers.Sweep, time: int | None = None) -> np.ndarray:
    """Mean relative errors of a model trained on each grid (rows) and tested on each (columns)."""
    study, draw = getattr(lab, problem)(source)
    tests = [draw.on(points, time) for points in sweep.test_points]
    coefs = [lab.coef(problem, source, points, sweep.n[0], sweep.m[0], time) for points in sweep.train_points]
    return np.array([study.errors(coefs, test.test_a, test.test_y) for test in tests]).T


def m_and_n(
    lab: Lab, problem: str, source: int, cells: papers.Sweep, counts: Sequence[int], time: int | None = None
) -> np.ndarray:
    """Mean relative errors for each n of `counts` (rows) and each m (columns)."""
    study, draw = getattr(lab, problem)(source)
    here = draw.on(cells.train_points[0], time)
    equations = study.equations(here.a, here.y, counts)
    errors = study.errors([study.coef(equations[n], m) for n in counts for m in cells.m], here.test_a, here.test_y)
    return np.array(errors).reshape(len(counts), len(cells.m))


def transfer_figure(
    sweep: papers.Sweep, cells: papers.Sweep, counts: Sequence[int], authors: Arrays, same: Arrays | None, fresh: Arrays
) -> Figure:
    """Two panels: error against the test grid, one curve a training grid; and error against m, one curve a number of samples.

    Each of the three has the curves of both panels as rows, `fresh` those of each seed.
    """
    figure, axes = panels(2)
    labels = [f"trained on {points}" for points in sweep.train_points], [f"n = {n}" for n in counts]
    along = (sweep.test_points, "points along an axis of the test grid"), (cells.m, "features m")
    for i, (x, name) in enumerate(along):
        ours = {} if same is None else dict(zip(labels[i], same[i], strict=True))
        seeds = dict(zip(labels[i], fresh[i].swapaxes(0, 1), strict=True))
        compare(axes[i], x, dict(zip(labels[i], authors[i], strict=True)), ours, seeds, (name, "mean relative error"))
    return figure


def swept_result(
    item: str,
    title: str,
    settings: str,
    remark: str,
    lab: Lab,
    sweep: papers.Sweep,
    authors: dict[str, Any],
    errors: Curves,
    coefs: Curves,
) -> Result:
    """Two panels, error and coefficients against the grid, for either problem; `errors` and `coefs` by source, then by m."""
    names = {m: f"m = {m}" for m in sweep.m}
    figure, axes = panels(2)
    numbers, tables = {}, []
    for panel, key, by_source, label in zip(
        axes, ("test", "coefficients"), (errors, coefs), ("mean relative error", "relative change of α"), strict=True
    ):
        reach = len(sweep.train_points) - (key == "coefficients")
        stored = {names[m]: authors[f"m{m}"][key][:reach] for m in sweep.m}
        same = {names[m]: by_source[AUTHORS][m][:reach] for m in sweep.m} if AUTHORS in by_source else {}
        fresh = {names[m]: np.array([by_source[seed][m][:reach] for seed in lab.seeds]) for m in sweep.m}
        compare(panel, sweep.train_points[:reach], stored, same, fresh, ("points along an axis", label))
        rows = []
        for m, name in names.items():
            for i, points in enumerate(sweep.train_points[:reach]):
                target, seeds = stored[name][i], fresh[name][:, i]
                exact = [f"{same[name][i]:.4f}", percent(same[name][i], target)] if same else []
                row = [str(m), str(points), f"{target:.4f}", *exact, *mean_and_range(seeds)]
                rows.append([*row, percent(float(seeds.mean()), target)])
        theirs = ["ours, their draws", "difference"] if same else []
        header = ["m", "points", "authors", *theirs, "ours, fresh draws", "range", "difference"]
        tables.append(Table(f"{label.capitalize()}.", header, rows))
        middle = slice(2, None) if key == "test" else slice(None)

        def largest(ours: dict[str, Any], stored: dict[str, Any] = stored, middle: slice = middle) -> float:
            return max(float(np.abs(np.array(ours[name])[middle] / np.array(stored[name])[middle] - 1).max()) for name in ours)

        numbers[f"fresh, largest difference, {key}"] = largest({name: curves.mean(0) for name, curves in fresh.items()})
        if same:
            numbers[f"largest difference, {key}"] = largest(same)
        if key == "coefficients":
            numbers["coefficients converge"] = float(all((np.diff(curves.mean(0)) < 0).all() for curves in fresh.values()))
    caption = "Rings: authors. Lines: ours with their draws, where there are any. Bands and dots: fresh draws."
    return Result(
        item,
        title,
        settings,
        remark,
        tables=tables,
        pictures=[Picture.of(figure, caption)],
        numbers=numbers,
        authors_seconds=sum(run["seconds"] for run in authors.values()),
    )


def swept_errors(lab: Lab, problem: str, source: int, sweep: papers.Sweep, time: int | None) -> dict[int, list[float]]:
    """Mean relative errors of models trained and tested on the same grid, by m."""
    study, draw = getattr(lab, problem)(source)
    columns = []
    for points in sweep.train_points:
        here = draw.on(points, time)
        coefs = [lab.coef(problem, source, points, sweep.n[0], m, time) for m in sweep.m]
        columns.append(study.errors(coefs, here.test_a, here.test_y))
    return {m: [column[i] for column in columns] for i, m in enumerate(sweep.m)}


def converged(lab: Lab, problem: str, source: int, sweep: papers.Sweep, time: int | None) -> dict[int, list[float]]:
    """‖α(K) − α(finest)‖ / ‖α(finest)‖."""
    changes = {}
    for m in sweep.m:
        finest = lab.coef(problem, source, sweep.train_points[-1], sweep.n[0], m, time)
        changes[m] = [
            float((lab.coef(problem, source, points, sweep.n[0], m, time) - finest).norm() / finest.norm())
            for points in sweep.train_points
        ]
    return changes
