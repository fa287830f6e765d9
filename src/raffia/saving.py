"""What of a trained model goes into its file, and back."""

from typing import Any

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression import NormalEquations, Solution, TriangularFactor
from raffia.scaling import Scaling
from raffia.spaces import Nodes
from raffia.uncertainty import Noise

FOUND = ("ridge_", "loo_error_", "held_out_error_", "variables_")  # what was found, and in which arrays of a file
STATISTICS = {kind.__name__: kind for kind in (NormalEquations, TriangularFactor)}
VALUES = {"noise_": Noise, "input_scaling_": Scaling, "output_scaling_": Scaling}


def content_of(model: Any, statistics: bool) -> dict[str, Any]:
    """Everything that predictions need; θ follows from `random_state`, and where to compute is for the reader to say."""
    equations = getattr(model, "equations_", None)
    if statistics and type(equations).__name__ not in STATISTICS:
        raise RaffiaError(
            "statistics=True needs a model with normal equations or a triangular factor: fitted here, by a solver that forms them."
        )
    return {
        "parameters": model.get_params(deep=False) | {"device": None},
        "input_grid": model.input_grid_,
        "output_grid": model.output_grid_,
        "solution": vars(model.solution_),
        "learnt": {name: getattr(model, name) for name in FOUND if hasattr(model, name)},
        "values": {name: vars(getattr(model, name)) for name in VALUES if hasattr(model, name)},
        "statistics": {"kind": type(equations).__name__, **vars(equations)} if statistics else None,
    }


def restore(model: Any, content: dict[str, Any]) -> bool:
    """Put what a file holds into a model that was made with its parameters; whether it is a whole model."""
    model.input_grid_, model.output_grid_ = content["input_grid"], content["output_grid"]
    model._solution, model._settings = Solution(**content["solution"]), model._fingerprint()
    for name in FOUND:
        if name in content["learnt"]:
            setattr(model, name, content["learnt"][name])
    for name, kind in VALUES.items():
        if name in content["values"]:
            setattr(model, name, kind(**content["values"][name]))
    if content["statistics"] is not None:
        arguments = dict(content["statistics"])
        model.equations_ = STATISTICS[arguments.pop("kind")](**arguments)
    whole = isinstance(model.feature_map, FeatureMap) and isinstance(model.output_grid_, Nodes)
    return whole and len(model._solution.coef) == model.n_features
