"""Test whether one state determines the next, by comparing quick models of one state and of two on held-out trajectories."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap, LocalFeatures, ScalarFeatures
from raffia.features.product_search import found
from raffia.metrics.error_measure import FLOOR
from raffia.model import RandomFeatureModel

UNEXPLAINED = 0.2  # of what changes in a step: where a model of one state leaves less, a state is complete
LESS = 0.1  # of the error of a model of one state: what one of two states must be below
MOST_PAIRS, FEWEST, VALUES = 200, 24, 2**20  # to learn from, and values of all of them
JUDGED = 4  # of so many trajectories one is judged by
FEW, MANY = 16, 128  # local features, with coefficients for each wavenumber and without
RIDGE = 1e-10  # of normalised features that are far fewer than what they are fitted to


def incomplete(data: Dataset, rows: Sequence[int]) -> str:
    """Return the reason why inputs should be two states in a row, or an empty string if one state determines the next.

    Quick models of one state and of two are trained on some of these rows and judged on others, of trajectories that they had not seen.
    A complete state leaves little of its change unexplained, or as much as two do; a displacement without its velocity leaves most of it.
    """
    part = data.part(list(rows))
    if part.along is None or part.along.said or part.along.window > 1 or not part.along.preceded()[0]:
        return ""
    wide = part.widened()
    train, judged = _sides(wide)
    if len(train) < FEWEST or not judged:
        return ""
    own = _unexplained(_narrow(wide, part), train, judged)
    if not UNEXPLAINED < own < math.inf or not (other := _unexplained(wide, train, judged)) < LESS * own:
        return ""
    return (
        f"a state does not tell the next: quick models of one state leave {_share(own)} of what changes in a step unexplained, those of "
        f"two states in a row {_share(other)}. So inputs are two states; --window 1 (window=1) takes one."
    )


def _sides(wide: Dataset) -> tuple[list[int], list[int]]:
    """Rows to learn from and to judge by: of every fourth trajectory, or the last quarter of a single one."""
    assert wide.along is not None
    names, numbers = wide.along.trajectory.unique(return_inverse=True)
    late = torch.arange(len(wide)) >= len(wide) - len(wide) // JUDGED
    apart = late if len(names) == 1 else numbers % JUDGED == min(JUDGED, len(names)) - 1
    most = min(MOST_PAIRS, max(FEWEST, VALUES // max(1, wide.a[0].numel())))
    return tuple(_spread(side.nonzero()[:, 0], most) for side in (~apart, apart))  # type: ignore[return-value]


def _spread(rows: Tensor, most: int) -> list[int]:
    places = torch.linspace(0, len(rows) - 1, min(most, len(rows))).round().long()
    return rows[places].tolist()


def _narrow(wide: Dataset, part: Dataset) -> Dataset:
    """Return the same pairs without the first state of their inputs."""
    components = part.domain.has_components
    a = wide.a[:, wide.a.shape[1] - part.a.shape[1] :] if components else wide.a[:, -1]
    return Dataset(a, wide.y, part.domain, output=part.output_space, along=wide.along)


def _unexplained(data: Dataset, train: Sequence[int], judged: Sequence[int]) -> float:
    """Return the share of the change over a step that the best quick model leaves unexplained. A small share ends the search."""
    known, other = data.part(list(train)), data.part(list(judged))
    change, truth = (part.y - _newest(part) for part in (known, other))
    usual = float(change.norm()) * math.sqrt(len(judged) / len(train))
    least, best = FLOOR * usual, math.inf if usual else 0.0  # where nothing changes, all is explained
    for features, settings in _quick(known):
        if best < UNEXPLAINED:
            break
        try:
            model = RandomFeatureModel(features, output=data.output_space, **settings).fit(known.a, change)
        except RaffiaError:  # such features are undefined on these data
            continue
        error = float((torch.as_tensor(model.predict(other.a)) - truth).norm() / truth.norm().clamp(min=least))
        best = min(best, error if error == error else math.inf)
    return best


def _quick(known: Dataset) -> Iterator[tuple[FeatureMap, dict[str, Any]]]:
    """Features, and how models of them are trained: on a torus products, where inputs are single states; on grids local ones, many with
    ordinary coefficients, or few with one a wavenumber; else a linear map and a kernel."""
    domain = known.domain
    if not (domain.one_channel.gridded and domain.dim):
        for features in (ScalarFeatures(None, law="affine", domain=domain), ScalarFeatures(None, domain=domain)):
            yield features, {"n_features": math.inf, "ridge": "auto", "normalize": "function"}
        return
    if domain == known.output_space and domain.one_channel.periodic:
        features = found(known.a, known.y, domain, limit=0.0)[0]
        yield features, {"n_features": features.theta_shape[0], "coefficients": "modal", "normalize": False}
    for many, coefficients in ((FEW, "modal"), (MANY, "ordinary")):
        yield (
            LocalFeatures(domain=domain),
            {"n_features": many, "ridge": RIDGE, "coefficients": coefficients, "normalize": True},
        )


def _newest(data: Dataset) -> Tensor:
    """The newest state of each input, in the form of outputs: once for each of their states."""
    assert data.along is not None
    y = data.y if data.output_space.has_components else data.y[:, None]
    a = data.a if data.domain.has_components else data.a[:, None]
    channels, past = y.shape[1] // data.along.horizon, a.shape[1] - data.along.fixed
    return torch.cat([a[:, past - channels : past]] * data.along.horizon, 1).reshape(data.y.shape).to(data.y.dtype)


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if value >= 1e-3 else "next to nothing"
