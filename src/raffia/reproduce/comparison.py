"""The authors' values beside ours, as tables and as panels of figures; models along grids, samples and features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from raffia import papers
from raffia.pages import Picture, Table
from raffia.plotting.layout import panels
from raffia.reproduce.draws import ONE
from raffia.reproduce.lab import AUTHORS, Lab, reported
from raffia.reproduce.result import Result

COLOURS = ("#1f6fb2", "#d1495b", "#3a7d44", "#7a5195", "#e08e0b", "#00798c", "#8d6a4f", "#4c4c4c")
TIME = {"burgers": ONE, "darcy": None}
SWEPT = {"test": "mean relative error", "coefficients": "relative change of α"}
CAPTION = "Rings: authors. Lines: ours with their draws, where there are any. Bands and dots: range and mean of ours with fresh draws."


@dataclass(frozen=True)
class Comparison:
    """The authors' values (rows, columns), ours with their draws where these can be made again, and ours of each seed."""

    theirs: np.ndarray
    same: np.ndarray | None
    fresh: np.ndarray

    @classmethod
    def of(cls, lab: Lab, theirs: object, ours: Callable[[int], np.ndarray], exact: bool) -> "Comparison":
        """Of `ours(source)` for each source of draws; `exact` where the authors' draws can be made again."""
        return cls(np.array(theirs), ours(AUTHORS) if exact else None, np.array([ours(seed) for seed in lab.seeds]))

    @property
    def ours(self) -> list[np.ndarray]:
        """With their draws, if there are any, and the mean over the seeds."""
        return [*([] if self.same is None else [self.same]), self.fresh.mean(0)]

    def differences(self, name: str, first: int = 0) -> dict[str, float]:
        """The largest relative differences, from a column on."""
        names = (f"largest difference of the {name}", f"fresh, largest difference of the {name}")[-len(self.ours) :]
        off = (np.abs(values / self.theirs - 1)[:, first:].max() for values in self.ours)
        return dict(zip(names, map(float, off), strict=True))

    def table(self, caption: str, rows: Sequence[Sequence[str]], header: Sequence[str]) -> Table:
        """A row for each value, with the spread of the seeds; `rows` are their first cells."""
        own = ["ours, their draws", "difference"] * (self.same is not None)
        cells = [[*row, *self._cells(*index)] for row, index in zip(rows, np.ndindex(self.theirs.shape), strict=True)]
        return Table(caption, [*header, "authors", *own, "ours, fresh draws", "range", "difference"], cells)

    def _cells(self, i: int, j: int) -> list[str]:
        theirs, seeds = self.theirs[i, j], self.fresh[:, i, j]
        same = [] if self.same is None else [f"{self.same[i, j]:.4f}", percent(self.same[i, j], theirs)]
        spread = f"{seeds.min():.4f} … {seeds.max():.4f}"
        return [f"{theirs:.4f}", *same, f"{seeds.mean():.4f}", spread, percent(seeds.mean(), theirs)]

    def small_table(self, caption: str, head: str, rows: Sequence[int], columns: Sequence[int]) -> Table:
        """The authors' value and ours in each cell."""
        whose = "authors | ours" if self.same is None else "authors | ours, their draws | ours, fresh"
        return Table.of_cells(f"{caption}: {whose}.", head, rows, columns, self.theirs, *self.ours)

    def draw(self, axes: Axes, x: Sequence[int], rows: Sequence[str], names: tuple[str, str]) -> None:
        """A colour for each row: rings the authors, a line ours with their draws, a band and dots ours with fresh draws."""
        for i, (colour, label) in enumerate(zip(COLOURS, rows, strict=False)):
            values = self.fresh[:, i]
            axes.plot(x, self.theirs[i], "o", mfc="none", color="black", ms=7, zorder=3)
            if self.same is not None:
                axes.plot(x, self.same[i], "-", color=colour, lw=1.5)
            axes.fill_between(x, values.min(0), values.max(0), color=colour, alpha=0.25, lw=0)
            axes.plot(x, values.mean(0), ".-" if self.same is None else ".", color=colour, ms=6, lw=1.2)
            axes.plot([], [], "-", color=colour, label=label)
        axes.plot([], [], "o", mfc="none", color="black", label="authors")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(x, [str(value) for value in x])
        axes.minorticks_off()
        axes.set(xlabel=names[0], ylabel=names[1])
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7) if high < 30 * low else (1,)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def percent(ours: float, theirs: float) -> str:
    """The relative difference."""
    return f"{ours / theirs - 1:+.1%}" if abs(ours / theirs - 1) >= 5e-4 else "0.0%"


def transfer(
    lab: Lab, problem: str, sweep: papers.Sweep, cells: papers.Sweep, counts: Sequence[int]
) -> tuple[Comparison, Comparison, Figure, list[Table]]:
    """Mean errors of models trained on one grid (rows) and tested on another, and of models with n of `counts` samples and m features.

    The figure has a panel for each: error against the test grid, and against m.
    """
    time, exact = TIME[problem], problem == "burgers"

    def grids(source: int) -> np.ndarray:
        study, draw = lab.draws(problem, source)
        coefs = [
            lab.coef(problem, source, points=points, n=sweep.n[0], m=sweep.m[0], time=time) for points in sweep.train_points
        ]
        tests = [draw.on(points, time) for points in sweep.test_points]
        return np.array([study.errors(coefs, test.test_a, test.test_y) for test in tests]).T

    def sizes(source: int) -> np.ndarray:
        study, draw = lab.draws(problem, source)
        here = draw.on(cells.train_points[0], time)
        equations = study.equations(here.a, here.y, counts)
        errors = study.errors([study.coef(equations[n], m) for n in counts for m in cells.m], here.test_a, here.test_y)
        return np.array(errors).reshape(len(counts), len(cells.m))

    moved = Comparison.of(lab, np.array(reported()[f"{problem}_transfer"]["test"]).T, grids, exact)
    sized = Comparison.of(lab, reported()[f"{problem}_m_and_n"]["test"][: len(counts)], sizes, exact)
    figure, (left, right) = panels(2, 2, (5.2, 4.4))
    rows = [f"trained on {points}" for points in sweep.train_points]
    moved.draw(left, sweep.test_points, rows, ("points along an axis of the test grid", "mean relative error"))
    sized.draw(right, cells.m, [f"n = {n}" for n in counts], ("features m", "mean relative error"))
    tables = [
        moved.small_table("Grids (rows: training, columns: test)", "trained on", sweep.train_points, sweep.test_points),
        sized.small_table("n (rows) and m (columns)", "n", counts, cells.m),
    ]
    return moved, sized, figure, tables


def swept(lab: Lab, problem: str, source: int, sweep: papers.Sweep) -> np.ndarray:
    """By kind, m and grid: mean relative errors of models tested on their grid, and ‖α(K) − α(finest)‖ / ‖α(finest)‖."""
    study, draw = lab.draws(problem, source)
    errors, coefs = [], []
    for points in sweep.train_points:
        here = draw.on(points, TIME[problem])
        coefs.append([lab.coef(problem, source, points=points, n=sweep.n[0], m=m, time=TIME[problem]) for m in sweep.m])
        errors.append(study.errors(coefs[-1], here.test_a, here.test_y))
    changes = [[float((coef - end).norm() / end.norm()) for coef, end in zip(row, coefs[-1], strict=True)] for row in coefs]
    return np.array([np.array(errors).T, np.array(changes).T])


def swept_result(lab: Lab, problem: str, item: str, *, title: str, settings: str, remark: str, sweep: papers.Sweep) -> Result:
    """Two panels, error and coefficients against the grid, for either problem."""
    authors = reported()[f"{problem}_grids"]
    ours = {source: swept(lab, problem, source, sweep) for source in (*([AUTHORS] * (problem == "burgers")), *lab.seeds)}
    figure, axes = panels(2, 2, (5.2, 4.4))
    numbers: dict[str, float] = {}
    tables = []
    for kind, (key, label) in enumerate(SWEPT.items()):
        points = sweep.train_points[: len(sweep.train_points) - kind]  # the coefficients of the finest grid are compared with
        stored = [authors[f"m{m}"][key][: len(points)] for m in sweep.m]
        compared = Comparison.of(lab, stored, lambda source: ours[source][kind][:, : len(points)], AUTHORS in ours)  # noqa: B023
        compared.draw(axes[kind], points, [f"m = {m}" for m in sweep.m], ("points along an axis", label))
        tables.append(
            compared.table(f"{label.capitalize()}.", [[str(m), str(r)] for m in sweep.m for r in points], ["m", "points"])
        )
        numbers |= compared.differences(label, 0 if kind else 2)
    numbers["coefficients converge"] = float((np.diff(compared.ours[-1]) < 0).all())
    return Result(
        item=item,
        title=title,
        settings=settings,
        remark=remark,
        tables=tables,
        pictures=[Picture.of(figure, CAPTION)],
        numbers=numbers,
    )
