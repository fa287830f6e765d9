"""A trained operator, `model.at(…)`, as what other packages take; each is imported when it is asked for."""

from raffia.adapters.bayesian_optimisation import botorch_mean, botorch_model
from raffia.adapters.inverse_problems import cuqi_model
from raffia.adapters.linear_algebra import jacobian
from raffia.adapters.probabilistic import pytensor_op

__all__ = ["botorch_mean", "botorch_model", "cuqi_model", "jacobian", "pytensor_op"]
