"""Error and coefficients against the grid (fig:gridsweep_burg, fig:gridsweep_darcy)."""

from typing import Any

import numpy as np

from raffia import papers
from raffia.reproduce.lab import AUTHORS, Lab
from raffia.reproduce.pictures import compare, panels
from raffia.reproduce.result import Picture, Result, Table, percent

Curves = dict[int, dict[int, list[float]]]
"""By source of the draws, then by m: one value a grid."""


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
    for panel, key, found, label in zip(
        axes, ("test", "coefficients"), (errors, coefs), ("mean relative error", "relative change of α"), strict=True
    ):
        reach = len(sweep.train_points) - (key == "coefficients")
        stored = {names[m]: authors[f"m{m}"][key][:reach] for m in sweep.m}
        same = {names[m]: found[AUTHORS][m][:reach] for m in sweep.m} if AUTHORS in found else {}
        fresh = {names[m]: np.array([found[seed][m][:reach] for seed in lab.seeds]) for m in sweep.m}
        compare(panel, sweep.train_points[:reach], stored, same, fresh, ("points along an axis", label))
        rows = []
        for m in sweep.m:
            name = names[m]
            mean = fresh[name].mean(0)
            for i, points in enumerate(sweep.train_points[:reach]):
                exact = [f"{same[name][i]:.4f}", percent(same[name][i], stored[name][i])] if same else []
                rows.append(
                    [
                        str(m),
                        str(points),
                        f"{stored[name][i]:.4f}",
                        *exact,
                        f"{mean[i]:.4f}",
                        f"{fresh[name][:, i].min():.4f} … {fresh[name][:, i].max():.4f}",
                        percent(float(mean[i]), stored[name][i]),
                    ]
                )
        theirs = ["ours, their draws", "difference"] if same else []
        tables.append(
            Table(
                f"{label.capitalize()}.", ["m", "points", "authors", *theirs, "ours, fresh draws", "range", "difference"], rows
            )
        )
        middle = slice(2, None) if key == "test" else slice(None)
        ratio = np.array(
            [np.array(fresh[name].mean(0)[middle]) / np.array(stored[name][middle]) - 1 for name in names.values()]
        )
        numbers[f"fresh, largest difference, {key}"] = float(np.abs(ratio).max())
        if same:
            exact_ratio = np.array(
                [np.array(same[name][middle]) / np.array(stored[name][middle]) - 1 for name in names.values()]
            )
            numbers[f"largest difference, {key}"] = float(np.abs(exact_ratio).max())
        falls = [np.diff(np.log(fresh[name].mean(0))) for name in names.values()]
        if key == "coefficients":
            numbers["coefficients converge"] = float(all((fall < 0).all() for fall in falls))
    return Result(
        item,
        title,
        settings,
        remark,
        tables=tables,
        pictures=[
            Picture.of(
                figure, "Rings: authors. Lines: ours with their draws, where there are any. Bands and dots: fresh draws."
            )
        ],
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
    found = {}
    for m in sweep.m:
        finest = lab.coef(problem, source, sweep.train_points[-1], sweep.n[0], m, time)
        found[m] = [
            float((lab.coef(problem, source, points, sweep.n[0], m, time) - finest).norm() / finest.norm())
            for points in sweep.train_points
        ]
    return found
