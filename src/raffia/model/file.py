"""The file of a model: what training found, and back."""

import os
from collections.abc import Iterable
from typing import Any

import torch
from sklearn.base import BaseEstimator

from raffia import data, features, metrics, regression, spaces
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.regression import Noise, Solution, unpacked
from raffia.spaces import POINT, Nodes
from raffia.storage import archive
from raffia.training.coefficients import coefficients_of
from raffia.training.frame import Frame
from raffia.training.scaling import Scaling
from raffia.training.settings import Settings
from raffia.training.trained import HELD_OUT, LEFT_OUT, Trained

PUBLIC = (features, regression, spaces, metrics, data)
CLASSES: dict[str, type] = {
    name: value
    for module in PUBLIC
    for name, value in vars(module).items()
    if name in module.__all__
    and isinstance(value, type)
    and (hasattr(value, "__dataclass_fields__") or issubclass(value, BaseEstimator))
} | {cls.__name__: cls for cls in (Trained, Frame, Scaling, Settings)}
"""What a file may name: the public classes of these packages, and the parts of `Trained`."""


def write(path: archive.Path, trained: Trained, statistics: bool) -> None:
    """Everything that predictions need; θ follows from `random_state`, and where to compute is for the reader to say."""
    if statistics and (trained.statistics is None or not trained.statistics.portable):
        raise RaffiaError(
            "statistics=True needs a model with normal equations or a triangular factor: fitted here, by a solver that forms them."
        )
    archive.write(path, {"trained": trained.light(statistics)})


def read(path: archive.Path, classes: Iterable[type] = ()) -> Trained:
    """What `write` wrote; files of format version 2 too."""
    content = archive.read(path, CLASSES | {cls.__name__: cls for cls in classes})
    try:
        trained = content["trained"] if "trained" in content else _of_version_2(content)
        whole = isinstance(trained, Trained) and isinstance(trained.settings.feature_map, FeatureMap)
        whole = whole and isinstance(trained.frame.output_nodes, Nodes)
        whole = whole and coefficients_of(trained.settings).fits(trained.settings, trained.solution.coef)
    except (KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise RaffiaError(f"{os.fspath(path)} is a raffia file, but it does not hold a model.")
    try:
        trained.settings.check()
        if not torch.isfinite(trained.solution.coef).all():
            raise RaffiaError("its coefficients are not finite.")
    except RaffiaError as error:
        raise RaffiaError(f"{os.fspath(path)} is damaged: {error}") from None
    return trained


def _of_version_2(content: dict[str, Any]) -> Trained:
    """Version 2 has the parts of a model side by side, and nothing of the measure of its errors but what follows from them."""
    settings, learnt, values = Settings(**content["parameters"]), content["learnt"], content["values"]
    inputs, outputs = content["input_grid"], content["output_grid"]
    scalings = [Scaling(**values[name]) if name in values else Scaling() for name in ("input_scaling_", "output_scaling_")]
    numbers = settings.feature_map.values_on(inputs) == POINT
    measure = metrics.measure_for(outputs, settings.normalize)(scalings[1].offset, None)
    domain, output = settings.feature_map.domain, settings.output or outputs.space
    frame = Frame(domain, output, inputs, outputs, POINT if numbers else outputs.one_channel, scalings[0], scalings[1], measure)
    names = {"loo_error_": LEFT_OUT, "held_out_error_": HELD_OUT}
    variables = learnt.get("variables_")
    return Trained(
        settings,
        frame,
        Solution(**content["solution"]),
        learnt.get("ridge_", settings.ridge),
        {names[name]: learnt[name] for name in names if name in learnt},
        Noise(**values["noise_"]) if "noise_" in values else None,
        None if content["statistics"] is None else unpacked(content["statistics"]),
        reading=variables and data.Reading(tuple(variables["input"]), tuple(variables["output"]), domain, output),
    )
