"""For BoTorch: a deterministic model, and one with the error bars of the surrogate as its posterior."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from raffia.adapters.needed import needed
from raffia.model.vector_operator import FlatOperator


def botorch_mean(operator: FlatOperator) -> Any:
    """Make a `GenericDeterministicModel` of BoTorch from a model: its predictions, without error bars.

    Parameters
    ----------
    operator
        `model.at(grid)`.

    Returns
    -------
    GenericDeterministicModel
        From tensors (b, q, input_size) to (b, q, output_size).

    Examples
    --------
    See *Derivatives, optimisers and export* in the reference (`docs/use.md`): `botorch_mean(model.at(64))`.
    """
    models = needed("botorch.models.deterministic", "BoTorch")
    return models.GenericDeterministicModel(lambda x: _rows(operator, x), num_outputs=operator.output_size)


def botorch_model(operator: FlatOperator) -> Any:
    """Make a `Model` of BoTorch from a model: predictions as means, error bars as deviations, each value by itself.

    Parameters
    ----------
    operator
        `model.at(grid)` of a model with error bars.

    Returns
    -------
    Model
        A model whose `posterior` takes tensors (b, q, input_size).

    Examples
    --------
    See *Derivatives, optimisers and export* in the reference (`docs/use.md`): `botorch_model(model.at(64))`.
    """
    return _model()(operator)


def _rows(values: Any, x: Tensor) -> Tensor:
    """Of all points of a batch."""
    return values(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


@cache
def _model() -> Any:
    """The class, which cannot be made before the package is there."""
    models, posteriors = needed("botorch.models.model", "BoTorch"), needed("botorch.posteriors.gpytorch", "BoTorch")
    laws = needed("gpytorch.distributions", "BoTorch")

    class Independent(models.Model):  # type: ignore[name-defined]
        """Independent normal outcomes."""

        def __init__(self, operator: FlatOperator) -> None:
            super().__init__()
            self.operator = operator

        @property
        def num_outputs(self) -> int:
            return self.operator.output_size

        @property
        def batch_shape(self) -> torch.Size:
            return torch.Size()

        def posterior(
            self, X: Tensor, output_indices: Any = None, observation_noise: bool = False, posterior_transform: Any = None
        ) -> Any:
            chosen = slice(None) if output_indices is None else output_indices
            mean, deviation = (_rows(values, X)[..., chosen] for values in (self.operator, self.operator.deviation))
            laws_of = [
                laws.MultivariateNormal(m, torch.diag_embed(v))
                for m, v in zip(mean.unbind(-1), deviation.square().unbind(-1), strict=True)
            ]
            law = laws_of[0] if len(laws_of) == 1 else laws.MultitaskMultivariateNormal.from_independent_mvns(laws_of)
            posterior = posteriors.GPyTorchPosterior(law)
            return posterior if posterior_transform is None else posterior_transform(posterior)

    return Independent
