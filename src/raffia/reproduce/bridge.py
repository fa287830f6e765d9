"""fig:bb_compare: the Brownian bridge (ex:bb)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from raffia import papers, plotting
from raffia.data import Dataset
from raffia.metrics import bochner_error
from raffia.model import RandomFeatureModel
from raffia.pages import Picture
from raffia.reproduce.comparison import Comparison
from raffia.reproduce.lab import Lab, reported
from raffia.reproduce.result import Result


@dataclass(frozen=True)
class Bridge:
    """One path, the points it was seen at, and models of it: m = 50, 500, 5000 and, piecewise linear, ∞."""

    train: Dataset
    x: Tensor
    truth: Tensor
    models: dict[int, RandomFeatureModel]
    curves: dict[str, np.ndarray]

    @classmethod
    def drawn(cls, seed: int) -> "Bridge":
        """The path and the features of a seed."""
        paper = papers.BROWNIAN_BRIDGE
        train, test = (paper.problem.dataset(n, seed=seed + i) for i, n in enumerate((paper.n_samples, paper.n_test)))
        order, nodes = torch.argsort(test.a), torch.argsort(train.a)
        x, truth = test.a[order], test.y[order]
        models = {m: paper.model(random_state=seed, n_features=m).fit(train.a, train.y) for m in (50, 500, 5000)}
        curves = {f"m = {m}": np.asarray(model.predict(x)) for m, model in models.items()}
        knots, heights = np.concatenate([[0.0], train.a[nodes], [1.0]]), np.concatenate([[0.0], train.y[nodes], [0.0]])
        return cls(train, x, truth, models, curves | {"m = ∞": np.interp(x, knots, heights)})

    @property
    def errors(self) -> dict[str, float]:
        """The relative L² error of every curve."""
        return {name: bochner_error(self.truth, curve) for name, curve in self.curves.items()}

    def figure(self) -> plotting.Figure:
        """The path and the curves."""
        return plotting.brownian_bridge(self.x, self.truth, self.train.a, self.train.y, self.curves)


def bb_compare(lab: Lab) -> Result:
    """The model approaches the piecewise linear interpolant as m grows."""
    bridges = {seed: Bridge.drawn(seed) for seed in lab.seeds}
    names = list(bridges[lab.seeds[0]].curves)
    theirs = np.array(reported()["bridge"]["test"])[:, None]
    compared = Comparison.of(lab, theirs, lambda seed: np.array(list(bridges[seed].errors.values()))[:, None], exact=False)
    return Result(
        item="fig:bb_compare",
        title="The Brownian bridge: the model and its limit m = ∞",
        settings=f"n = {papers.BROWNIAN_BRIDGE.n_samples}, λ = 0, {len(lab.seeds)} seeds",
        remark=(
            "The authors store no numbers; their column is from their script and seed, for one path. The error depends on the path and on "
            "where its 32 points fall, so only the approach to the interpolant can be compared."
        ),
        tables=[compared.table("Relative L² error.", [[name] for name in names], ["m"])],
        pictures=[Picture.of(bridges[lab.seeds[0]].figure(), "Red: truth. Blue: model. Circles: training points.")],
        numbers=dict(zip(names, compared.ours[-1][:, 0].tolist(), strict=True)),
    )
