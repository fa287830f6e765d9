"""Errors along grids, samples and features, for either problem (fig:gridtranfser_burg, fig:gridsweep_burg and those for Darcy flow)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from raffia import papers
from raffia.pages import Picture, Table
from raffia.reproduce.draws import ONE
from raffia.reproduce.lab import AUTHORS, Lab, reported
from raffia.reproduce.pictures import compare, panels
from raffia.reproduce.result import BESIDE, Result, beside

Arrays = tuple[np.ndarray, np.ndarray]
Curves = tuple[np.ndarray, np.ndarray | None, np.ndarray]
"""Rows of the authors', of ours with their draws, and of ours for each seed."""
TIME = {"burgers": ONE, "darcy": None}
EXACT = {"burgers": (AUTHORS,), "darcy": ()}
"""Of Darcy flow, the authors' draws cannot be made again."""
SWEPT = {"test": "mean relative error", "coefficients": "relative change of α"}


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """Errors by the grids of training and test, and by n and m: the authors', ours with their draws where there are any, ours by seed."""

    theirs: Arrays
    same: Arrays | None
    fresh: Arrays
    figure: Figure
    """Error against the test grid, one curve a training grid; and error against m, one curve a number of samples."""
    tables: list[Table]
    seconds: float
    """The authors'."""


def transfer(lab: Lab, problem: str, sweep: papers.Sweep, cells: papers.Sweep, counts: Sequence[int]) -> Transfer:
    """Models trained on one grid and tested on another, and models with n of `counts` samples and m features."""

    def ours(source: int) -> Arrays:
        return transferred(lab, problem, source, sweep), m_and_n(lab, problem, source, cells, counts)

    authors = [reported()[f"{problem}_{name}"] for name in ("transfer", "m_and_n")]
    theirs = np.array(authors[0]["test"]).T, np.array(authors[1]["test"])[: len(counts)]
    same = [ours(source) for source in EXACT[problem]]
    moved, errors = zip(*map(ours, lab.seeds), strict=True)
    fresh = np.array(moved), np.array(errors)
    figure, axes = panels(2)
    labels = [f"trained on {points}" for points in sweep.train_points], [f"n = {n}" for n in counts]
    along = (sweep.test_points, "points along an axis of the test grid"), (cells.m, "features m")
    for i, (x, name) in enumerate(along):
        curves = theirs[i], same[0][i] if same else None, fresh[i]
        _compare(axes[i], x, labels[i], curves, (name, "mean relative error"))
    whose = "authors | ours, their draws | ours, fresh" if same else "authors | ours"
    grids, sizes = zip(theirs, *same, (fresh[0].mean(0), fresh[1].mean(0)), strict=True)
    caption = f"Grids (rows: training, columns: test): {whose}."
    tables = [
        Table.of_cells(caption, "trained on", sweep.train_points, sweep.test_points, *grids),
        Table.of_cells(f"n (rows) and m (columns): {whose}.", "n", counts, cells.m, *sizes),
    ]
    return Transfer(
        theirs=theirs,
        same=same[0] if same else None,
        fresh=fresh,
        figure=figure,
        tables=tables,
        seconds=sum(run["seconds"] for run in authors),
    )


def transferred(lab: Lab, problem: str, source: int, sweep: papers.Sweep) -> np.ndarray:
    """Mean relative errors of a model trained on each grid (rows) and tested on each (columns)."""
    study, draw = getattr(lab, problem)(source)
    time = TIME[problem]
    tests = [draw.on(points, time) for points in sweep.test_points]
    coefs = [lab.coef(problem, source, points=points, n=sweep.n[0], m=sweep.m[0], time=time) for points in sweep.train_points]
    return np.array([study.errors(coefs, test.test_a, test.test_y) for test in tests]).T


def m_and_n(lab: Lab, problem: str, source: int, cells: papers.Sweep, counts: Sequence[int]) -> np.ndarray:
    """Mean relative errors for each n of `counts` (rows) and each m (columns)."""
    study, draw = getattr(lab, problem)(source)
    here = draw.on(cells.train_points[0], TIME[problem])
    equations = study.equations(here.a, here.y, counts)
    errors = study.errors([study.coef(equations[n], m) for n in counts for m in cells.m], here.test_a, here.test_y)
    return np.array(errors).reshape(len(counts), len(cells.m))


def swept(lab: Lab, problem: str, source: int, sweep: papers.Sweep) -> dict[str, np.ndarray]:
    """By m (rows) and grid (columns): mean relative errors of models tested on their grid, and ‖α(K) − α(finest)‖ / ‖α(finest)‖."""
    study, draw = getattr(lab, problem)(source)
    errors, coefs = [], []
    for points in sweep.train_points:
        here = draw.on(points, TIME[problem])
        coefs.append([lab.coef(problem, source, points=points, n=sweep.n[0], m=m, time=TIME[problem]) for m in sweep.m])
        errors.append(study.errors(coefs[-1], here.test_a, here.test_y))
    changes = [[float((coef - end).norm() / end.norm()) for coef, end in zip(row, coefs[-1], strict=True)] for row in coefs]
    return {"test": np.array(errors).T, "coefficients": np.array(changes).T}


def swept_result(lab: Lab, problem: str, item: str, *, title: str, settings: str, remark: str, sweep: papers.Sweep) -> Result:
    """Two panels, error and coefficients against the grid, for either problem."""
    authors = reported()[f"{problem}_grids"]
    ours = {source: swept(lab, problem, source, sweep) for source in (*EXACT[problem], *lab.seeds)}
    figure, axes = panels(2)
    numbers, tables = {}, []
    for panel, (key, label) in zip(axes, SWEPT.items(), strict=True):
        points = sweep.train_points if key == "test" else sweep.train_points[:-1]
        stored = np.array([authors[f"m{m}"][key][: len(points)] for m in sweep.m])
        same = ours[AUTHORS][key][:, : len(points)] if AUTHORS in ours else None
        fresh = np.array([ours[seed][key][:, : len(points)] for seed in lab.seeds])
        _compare(panel, points, [f"m = {m}" for m in sweep.m], (stored, same, fresh), ("points along an axis", label))
        rows = [
            [str(m), str(r), *beside(stored[j, i], None if same is None else same[j, i], fresh[:, j, i])]
            for j, m in enumerate(sweep.m)
            for i, r in enumerate(points)
        ]
        header = BESIDE if same is not None else BESIDE[:1] + BESIDE[3:]
        tables.append(Table(f"{label.capitalize()}.", ["m", "points", *header], rows))
        begin = 2 if key == "test" else 0
        difference = np.abs(fresh.mean(0) / stored - 1)
        numbers[f"fresh, largest difference, {key}"] = float(difference[:, begin:].max())
        if same is not None:
            numbers[f"largest difference, {key}"] = float(np.abs(same / stored - 1)[:, begin:].max())
        if key == "coefficients":
            numbers["coefficients converge"] = float((np.diff(fresh.mean(0)) < 0).all())
    caption = "Rings: authors. Lines: ours with their draws, where there are any. Bands and dots: fresh draws."
    seconds = sum(run["seconds"] for run in authors.values())
    return Result(
        item=item,
        title=title,
        settings=settings,
        remark=remark,
        tables=tables,
        pictures=[Picture.of(figure, caption)],
        numbers=numbers,
        authors_seconds=seconds,
    )


def _compare(axes: Axes, x: Sequence[int], labels: list[str], curves: Curves, names: tuple[str, str]) -> None:
    rows = curves[0], curves[1], curves[2].swapaxes(0, 1)
    theirs, same, fresh = ({} if each is None else dict(zip(labels, each, strict=True)) for each in rows)
    compare(axes, x, names, authors=theirs, same=same, fresh=fresh)
