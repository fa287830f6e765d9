"""fig:bb_compare: the Brownian bridge (ex:bb)."""

import numpy as np
import torch

from raffia import papers, plotting
from raffia.metrics import bochner_error
from raffia.reproduce.lab import Lab, reported
from raffia.reproduce.result import Picture, Result, Table


def bb_compare(lab: Lab) -> Result:
    """The model approaches the piecewise linear interpolant as m grows."""
    paper, theirs = papers.BROWNIAN_BRIDGE, reported()["bridge"]
    found = np.array([[error for error, _ in _curves(seed).values()] for seed in lab.seeds])
    curves = _curves(lab.seeds[0])
    train, test = (paper.problem.dataset(n, seed=lab.seeds[0] + i) for i, n in enumerate((paper.n_samples, paper.n_test)))
    order = torch.argsort(test.a)
    figure = plotting.brownian_bridge(
        test.a[order], test.y[order], train.a, train.y, {name: values for name, (_, values) in curves.items()}
    )
    rows = [
        [name, f"{theirs['test'][j]:.4f}", f"{found[:, j].mean():.4f}", f"{found[:, j].min():.4f} … {found[:, j].max():.4f}"]
        for j, name in enumerate(curves)
    ]
    return Result(
        "fig:bb_compare",
        "The Brownian bridge: the model and its limit m = ∞",
        f"n = {paper.n_samples}, λ = 0, {len(lab.seeds)} seeds",
        "The authors store no numbers; their column is from their script and seed, for one path. The error depends on the path and on "
        "where its 32 points fall, so only the approach to the interpolant can be compared.",
        tables=[Table("Relative L² error.", ["m", "authors' path", "ours", "range"], rows)],
        pictures=[Picture.of(figure, "Red: truth. Blue: model. Circles: training points.")],
        numbers={name: float(found[:, j].mean()) for j, name in enumerate(curves)},
    )


def _curves(seed: int) -> dict[str, tuple[float, np.ndarray]]:
    paper = papers.BROWNIAN_BRIDGE
    train, test = (paper.problem.dataset(n, seed=seed + i) for i, n in enumerate((paper.n_samples, paper.n_test)))
    order = torch.argsort(test.a)
    x, truth = test.a[order], test.y[order]
    found = {}
    for m in (50, 500, 5000):
        values = np.asarray(paper.model(random_state=seed, n_features=m).fit(train.a, train.y).predict(x))
        found[f"m = {m}"] = (bochner_error(truth, values), values)
    nodes = torch.argsort(train.a)
    knots, heights = np.concatenate([[0.0], train.a[nodes], [1.0]]), np.concatenate([[0.0], train.y[nodes], [0.0]])
    values = np.interp(x, knots, heights)
    found["m = ∞"] = (bochner_error(truth, values), values)
    return found
