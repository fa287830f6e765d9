"""The same experiments with features tuned on the same training data, compared with the authors' errors."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from raffia import papers
from raffia.metrics import relative_error
from raffia.model import RandomFeatureModel
from raffia.pages import Picture, Table
from raffia.reproduce.draws import ONE, TIMES, Draw
from raffia.reproduce.lab import Lab, reported
from raffia.reproduce.pictures import compare, panels
from raffia.reproduce.result import Result
from raffia.reproduce.study import Study
from raffia.tuning import GradientSearch

Curves = defaultdict[str, list[list[float]]]
"""By label, one for each seed."""
QUICK_SEARCH = GradientSearch(steps=60, contest_steps=6, screened=4, swept=3)
TUNED, PAPER = "ours, tuned", "ours, the paper's features"
HOW = (
    "Hyperparameters and ridge were found by model.tune on the training data alone, from the paper's values; the features are of the "
    "paper's family."
)


def burgers(lab: Lab) -> Result:
    """Error against m, and against the test grid."""
    cells, grids = papers.BURGERS_M_AND_N, papers.BURGERS_TRANSFER.test_points[2:]
    by_m, by_grid, words = Curves(list), Curves(list), []
    for model, studies, draw, here in _tuned(lab, "burgers", m=1024, n=512, points=128, time=ONE):
        words.append(model.history_.found)
        for label, one in studies.items():
            coefs = one.coefs(here.a[:512], here.y[:512], cells.m)
            by_m[label].append(one.errors(coefs, here.test_a, here.test_y))
            tests = (draw.on(points, ONE) for points in grids)
            by_grid[label].append([one.errors(coefs[-1:], test.test_a, test.test_y)[0] for test in tests])
    authors = reported()
    stored = {PAPER: authors["burgers_m_and_n"]["test"][6]}
    transferred = {PAPER: np.array(authors["burgers_transfer"]["test"])[2:, 0].tolist()}
    figure, (left, right) = panels(2)
    compare(left, cells.m, ("features m", "mean relative error"), authors=stored, fresh=by_m)
    compare(right, grids, ("points of the test grid", "mean relative error"), authors=transferred, fresh=by_grid)
    mean = _means(by_m)
    caption = "Left: error against m. Right: m = 1024, trained on 128 points, tested on others; the authors' trained on 64."
    return Result(
        item="beyond:burgers",
        title="Burgers' equation, T = 1, with tuned features",
        settings=f"n = 512 (the authors' nearest: 500), trained on 128 points, {lab.n_test['burgers']} tests, {len(words)} seeds",
        remark=(
            f"{HOW} Found: {words[0]}. With m = 1024 the error falls from {authors['burgers_m_and_n']['test'][6][-1]:.4f} (authors) to "
            f"{mean[TUNED][-1]:.4f}."
        ),
        tables=[_against_m(cells.m, stored[PAPER], mean)],
        pictures=[Picture.of(figure, caption)],
        numbers={"tuned, m=1024": float(mean[TUNED][-1])},
    )


def ridge(lab: Lab) -> Result:
    """The paper's features with λ chosen by leaving out one function at a time, where the authors take λ = 0."""
    sizes, m, zero, auto = papers.BURGERS_M_AND_N.n[:6], 1024, "ours, λ = 0", "ours, ridge='auto'"
    curves = Curves(list)
    for seed in _seeds(lab):
        study, draw = lab.burgers(seed)
        here = draw.on(128, ONE)
        model = RandomFeatureModel(study.feature_map, m, ridge="auto", random_state=seed)
        chosen = [model.fit(here.a[:n], here.y[:n]).coef_ for n in sizes]
        equations = study.equations(here.a, here.y, sizes)
        for label, coefs in ((zero, [study.coef(equations[n], m) for n in sizes]), (auto, chosen)):
            curves[label].append(study.errors(coefs, here.test_a, here.test_y))
    stored = [row[-1] for row in reported()["burgers_m_and_n"]["test"][: len(sizes)]]
    figure, (left,) = panels(1)
    compare(left, sizes, ("samples n", "mean relative error"), authors={zero: stored}, fresh=curves)
    mean = _means(curves)
    return Result(
        item="beyond:ridge",
        title="Burgers' equation with few samples: λ chosen by leaving out one function at a time",
        settings=f"m = {m}, 128 points, {lab.n_test['burgers']} tests, {len(curves[zero])} seeds, the paper's features",
        remark=(
            "The paper takes λ = 0, the least-squares solution of minimum norm. With few samples that overfits; the choice by leaving out "
            "uses the training data alone."
        ),
        tables=[Table.of_curves("Mean relative error against n.", "n", sizes, {"authors": stored} | mean)],
        pictures=[Picture.of(figure, "Error against n.")],
        numbers={f"n={n}, auto over λ=0": float(mean[auto][j] / mean[zero][j]) for j, n in enumerate(sizes)},
    )


def time_upscale(lab: Lab) -> Result:
    """tab:time_upscale with tuned features."""
    m = 1024 if lab.quick else 4096
    theirs, table = reported()["time_upscale"]["test"], []
    for model, _, draw, here in _tuned(lab, "burgers", m=m, n=512, points=128, time=0):
        table.append([relative_error(draw.on(128, j).test_y, model.compose(here.test_a, j + 1)) for j in range(len(TIMES))])
    mean = np.mean(table, axis=0)
    return Result(
        item="beyond:time_upscale",
        title="Time upscaling with tuned features",
        settings=f"n = 512, m = {m} (authors: 1024), 128 points, {lab.n_test['burgers']} tests, {len(table)} seeds",
        remark=HOW,
        tables=[Table.of_curves("Mean relative error at time T.", "T", TIMES, {"authors": theirs, TUNED: mean})],
        numbers={f"tuned T={T}": float(mean[j]) for j, T in enumerate(TIMES)},
    )


def darcy(lab: Lab) -> Result:
    """Error against m: predictor–corrector features as in the paper, and tuned."""
    cells, n, points = papers.DARCY_M_AND_N, lab.darcy_samples, 33
    by_m, words = Curves(list), []
    quick = GradientSearch(steps=20, contest_steps=2, screened=2, swept=2)
    for model, studies, _, here in _tuned(lab, "darcy", m=256, n=n, points=points, quick=quick):
        words.append(model.history_.found)
        for label, one in studies.items():
            by_m[label].append(one.errors(one.coefs(here.a[:n], here.y[:n], cells.m), here.test_a, here.test_y))
    authors = reported()["darcy_m_and_n"]["test"]
    nearest = int(np.argmin(np.abs(np.array(cells.n) - n)))
    stored = {PAPER: authors[nearest]}
    figure, (left,) = panels(1)
    compare(left, cells.m, ("features m", "mean relative error"), authors=stored, fresh=by_m)
    mean = _means(by_m)
    return Result(
        item="beyond:darcy",
        title="Darcy flow with tuned features",
        settings=f"n = {n} (the authors' nearest: {cells.n[nearest]}), {points}² points, {lab.n_test['darcy']} tests, {len(words)} seeds",
        remark=(
            f"{HOW} Found: {words[0]}. The paper's features saturate: they are affine in their random fields, so more of them cannot "
            "help; what was found has more corrections of the predictor, or random factors in its sources."
        ),
        tables=[_against_m(cells.m, stored[PAPER], mean)],
        pictures=[Picture.of(figure, "Error against m.")],
        numbers={"tuned, m=512": float(mean[TUNED][-1])},
    )


def _seeds(lab: Lab) -> tuple[int, ...]:
    return lab.seeds[:1] if lab.quick else lab.seeds


def _tuned(
    lab: Lab, problem: str, *, m: int, n: int, points: int, time: int | None = None, quick: GradientSearch = QUICK_SEARCH
) -> Iterator[tuple[RandomFeatureModel, dict[str, Study], Draw, Draw]]:
    """For each seed a model tuned on n pairs; its features and the paper's, equally many; the draw, and the draw on the model's grid."""
    for seed in _seeds(lab):
        study, draw = getattr(lab, problem)(seed)
        here, model = draw.on(points, time), RandomFeatureModel(study.feature_map, m, random_state=seed)
        with torch.enable_grad():
            model.tune(here.a[:n], here.y[:n], quick if lab.quick else GradientSearch())
        theta = model.feature_map.draw(len(study.theta), seed).to(study.theta)
        tuned = Study(model.feature_map, theta, float(model.ridge), study.collapses)
        yield model, {TUNED: tuned, PAPER: study}, draw, here


def _means(curves: Curves) -> dict[str, Any]:
    return {label: np.mean(values, axis=0) for label, values in curves.items()}


def _against_m(m: tuple[int, ...], authors: list[float], mean: dict[str, np.ndarray]) -> Table:
    columns: dict[str, Any] = {"authors": authors, PAPER: mean[PAPER], TUNED: mean[TUNED]}
    return Table.of_curves("Mean relative error against m.", "m", m, columns)
