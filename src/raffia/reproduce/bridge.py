"""fig:bb_compare: the Brownian bridge (ex:bb)."""

import numpy as np
import torch

from raffia import papers, plotting
from raffia.metrics import bochner_error
from raffia.pages import Picture
from raffia.reproduce.comparison import Comparison
from raffia.reproduce.lab import Lab, reported
from raffia.reproduce.result import Result


def drawn(seed: int) -> tuple[dict[str, float], plotting.Figure]:
    """The relative L² error of models with m = 50, 500, 5000 features and, piecewise linear, ∞, and a picture of them."""
    paper = papers.BROWNIAN_BRIDGE
    train, test = (paper.problem.dataset(n, seed=seed + i) for i, n in enumerate((paper.n_samples, paper.n_test)))
    order, nodes = torch.argsort(test.a), torch.argsort(train.a)
    x, truth = test.a[order], test.y[order]
    models = {m: paper.model(random_state=seed, n_features=m).fit(train.a, train.y) for m in (50, 500, 5000)}
    curves = {f"m = {m}": np.asarray(model.predict(x)) for m, model in models.items()}
    knots, heights = np.concatenate([[0.0], train.a[nodes], [1.0]]), np.concatenate([[0.0], train.y[nodes], [0.0]])
    curves["m = ∞"] = np.interp(x, knots, heights)
    errors = {name: bochner_error(truth, curve) for name, curve in curves.items()}
    return errors, plotting.brownian_bridge(x, truth, train.a, train.y, curves)


def bb_compare(lab: Lab) -> Result:
    """The model approaches the piecewise linear interpolant as m grows."""
    bridges = {seed: drawn(seed) for seed in lab.seeds}
    errors, figure = bridges[lab.seeds[0]]
    theirs = np.array(reported()["bridge"]["test"])[:, None]
    compared = Comparison.of(lab, theirs, lambda seed: np.array([*bridges[seed][0].values()])[:, None], exact=False)
    return Result(
        item="fig:bb_compare",
        title="The Brownian bridge: the model and its limit m = ∞",
        settings=f"n = {papers.BROWNIAN_BRIDGE.n_samples}, λ = 0, {len(lab.seeds)} seeds",
        remark=(
            "The authors store no numbers; their column is from their script and seed, for one path. The error depends on the path and on "
            "where its 32 points fall, so only the approach to the interpolant can be compared."
        ),
        tables=[compared.table("Relative L² error.", [[name] for name in errors], ["m"])],
        pictures=[Picture.of(figure, "Red: truth. Blue: model. Circles: training points.")],
        numbers=dict(zip(errors, compared.ours[-1][:, 0].tolist(), strict=True)),
    )
