"""Pruning: features whose absence costs the least are dropped, a few at a time, and the others are fitted again.

Without feature j the misfit grows by α_j² / (m (G + λ)⁻¹_jj). No data are needed, since the statistics of some features are a part of
those of all. G contains 1/m, so the penalty stays the same if λ is proportional to 1/m.
"""

from dataclasses import replace

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.wrapped import Selected
from raffia.model.coefficients.ordinary import positive_ridge
from raffia.model.model_defaults import DEFAULTS
from raffia.model.trained import Trained
from raffia.regression import NormalEquations, Statistics, direct_solution, factorised
from raffia.validation import check_count


def pruned(trained: Trained, count: int) -> Trained:
    """The model of the `count` most useful features."""
    check_count("m", count)
    settings, statistics = trained.settings, trained.statistics
    if not isinstance(statistics, NormalEquations) or not isinstance(trained.ridge, float):
        raise RaffiaError(
            "prune needs ordinary coefficients and their normal equations: fit the model here, with a finite n_features and solver=None, "
            "or save it with statistics=True."
        )
    if trained.partner is not None:
        raise RaffiaError(
            "prune needs a single model, and this is a weighted sum of two. Fit one with a given feature map: features=…."
        )
    if settings.inequalities:
        raise RaffiaError(
            f"prune finds coefficients again without the training inputs, where {settings.inequalities[0]} is to hold: prune a model "
            "without inequalities, or fit one with fewer n_features."
        )
    if count > statistics.n_features:
        raise RaffiaError(f"prune needs m of at most {statistics.n_features}, as many features as there are; got {count}.")
    kept, ridge = torch.arange(statistics.n_features, device=statistics.rhs.device), trained.ridge
    while len(kept) > count:
        fewer = max(count, round((1 - DEFAULTS.dropped) * len(kept)))
        best = _worth(statistics, ridge).topk(fewer).indices.sort().values
        ridge *= len(kept) / fewer
        statistics, kept = _part(statistics, best), kept[best]
    before = settings.feature_map
    feature_map = Selected(before.pool, kept.cpu() if before.kept is None else before.kept[kept.cpu()])
    there = replace(settings, feature_map=feature_map, n_features=count, ridge=ridge)
    solution = direct_solution(statistics, ridge)
    return replace(
        trained, settings=there, solution=solution, ridge=ridge, errors={}, noise=None, statistics=statistics, scores=()
    )


def _worth(statistics: Statistics, ridge: float) -> Tensor:
    """The increase of the misfit without each feature."""
    inverse = torch.cholesky_inverse(factorised(statistics.gram, positive_ridge(ridge, statistics))[0])
    coef = inverse @ statistics.rhs.reshape(len(inverse), -1)
    return coef.square().sum(1) / inverse.diagonal()


def _part(statistics: NormalEquations, rows: Tensor) -> NormalEquations:
    share = statistics.n_features / len(rows)
    gram = share * statistics.gram[rows][:, rows]
    return NormalEquations(gram, statistics.rhs[rows], statistics.energy, statistics.n_samples)
