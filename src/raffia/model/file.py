"""Write trained models to files, and read and check them."""

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

from sklearn.base import BaseEstimator
from torch import Tensor, isfinite

from raffia import constraints, data, features, metrics, regression, spaces
from raffia.constraints import check_spaces
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.model.coefficients import coefficients_of
from raffia.model.error_bars import ErrorBars
from raffia.model.model_defaults import DEFAULTS
from raffia.model.novelty import Novelty
from raffia.model.preprocessing import Frame, Scaling
from raffia.model.settings import Settings
from raffia.model.trained import HELD_OUT, LEFT_OUT, Trained, WorkPlan
from raffia.regression import NormalEquations
from raffia.spaces import POINT, Domain, Mesh, Nodes, Space
from raffia.storage import archive
from raffia.validation import check_kinds


def stored_mesh(nodes: Tensor, weights: Tensor, domain: Domain, origin: tuple[float, ...], cells: Tensor | None = None) -> Mesh:
    """A mesh from a file, which must contain the weights, since estimating them takes long for many nodes."""
    return Mesh(nodes, weights, domain, origin, cells)


def stored_trained(reading: data.Schema | None = None, **fields: Any) -> Trained:
    """A training result from a file. In files of version 0.1, `schema` is called `reading`."""
    check_kinds("Trained", Trained, fields)
    return Trained(**{"schema": reading} | fields)


def stored_reading(
    input_names: tuple[str, ...],
    output_names: tuple[str, ...],
    domain: spaces.Space,
    output: spaces.Space,
    coordinates: tuple[str, ...] = (),
    steps: data.Steps | None = None,
    **sides: Any,
) -> data.Schema:
    """The schema of a file of version 0.1, which stores it as a `Reading` with arguments such as `input_layouts`."""
    parts: dict[str, dict[str, Any]] = {"input": {}, "output": {}}
    for name, value in sides.items():
        side, _, part = name.partition("_")
        parts[side][part] = value
    for arguments in parts.values():
        check_kinds("Reading", data.SideSchema, arguments)
    return data.Schema(
        input=data.SideSchema(names=tuple(input_names), space=domain, **parts["input"]),
        output=data.SideSchema(names=tuple(output_names), space=output, **parts["output"]),
        coordinates=tuple(coordinates),
        steps=steps,
    )


def stored_factor(factor: Tensor, n_unknowns: int, n_samples: int, vector: bool) -> NormalEquations:
    """Normal equations from a file with the triangular factor of [A y], which version 0.1 had for its solver TriangularQR."""
    design, target = factor[:, :n_unknowns], factor[:, n_unknowns:]
    rhs = design.mT @ target
    return NormalEquations(design.mT @ design / n_unknowns, rhs[:, 0] if vector else rhs, target.square().sum(), n_samples)


def no_solver(**_: Any) -> None:
    """The solvers TriangularQR and SketchedLSQR of version 0.1 are read as None, the automatic choice."""


PUBLIC = (features, regression, spaces, metrics, data, constraints)
_PARTS = {
    name: value
    for module in PUBLIC
    for name, value in vars(module).items()
    if isinstance(value, type) and (hasattr(value, "__dataclass_fields__") or issubclass(value, BaseEstimator))
} | {cls.__name__: cls for cls in (Trained, Frame, Scaling, Settings, Novelty, ErrorBars, WorkPlan)}
CLASSES: dict[str, Callable[..., Any]] = {
    **_PARTS,
    "Mesh": stored_mesh,
    "Reading": stored_reading,
    "Trained": stored_trained,
    "TriangularFactor": stored_factor,
    "TriangularQR": no_solver,
    "SketchedLSQR": no_solver,
}
"""The classes that a file may contain: the public classes of these packages, and the parts of `Trained`."""


def write(path: archive.Path, trained: Trained, statistics: bool) -> None:
    """Write everything that predictions need. θ follows from `random_state`; the device is chosen when the file is read."""
    if statistics and (trained.statistics is None or not trained.statistics.portable):
        raise RaffiaError("statistics=True needs normal equations: fit the model first, with a solver such as Cholesky().")
    archive.write(path, {"trained": trained.light(statistics)})


def read(path: archive.Path, classes: Iterable[type] = ()) -> Trained:
    """Read a file of `write`, or of format version 2."""
    content = archive.read(path, CLASSES | {cls.__name__: cls for cls in classes})
    try:
        trained = content["trained"] if "trained" in content else _of_version_2(content)
        if not (isinstance(trained, Trained) and isinstance(trained.settings.feature_map, FeatureMap)):
            raise KeyError("trained")
        check(trained)
    except RaffiaError as error:
        raise RaffiaError(f"{os.fspath(path)} is damaged: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise RaffiaError(f"{os.fspath(path)} is a raffia file, but it does not hold a model.") from None
    except archive.DAMAGE as error:
        raise RaffiaError(f"{os.fspath(path)} is damaged ({archive.reason_of(error)}).") from None
    return trained


def _of_version_2(content: dict[str, Any]) -> Trained:
    """Convert a file of version 2, which stores the parts of a model side by side and not the error measure."""
    settings, learnt, values = _built("Settings", content["parameters"]), content["learnt"], content["values"]
    solution = _built("Solution", content["solution"])
    inputs, outputs = content["input_grid"], content["output_grid"]
    scalings = [_built("Scaling", values.get(name, {})) for name in ("input_scaling_", "output_scaling_")]
    numbers = (
        solution.coef.numel() == settings.n_features * outputs.size
    )  # features that are functions have one column for each channel
    measure = metrics.measure_for(outputs, bool(settings.normalize))(scalings[1].offset, None)
    domain, output = settings.feature_map.domain, settings.output or outputs.space
    frame = Frame(domain, output, inputs, outputs, POINT if numbers else outputs.one_channel, scalings[0], scalings[1], measure)
    names = {"loo_error_": LEFT_OUT, "held_out_error_": HELD_OUT}
    variables, stored = learnt.get("variables_"), content["statistics"]
    return Trained(
        settings,
        frame,
        solution,
        learnt.get("ridge_", settings.ridge),
        {names[name]: learnt[name] for name in names if name in learnt},
        _built("Noise", values["noise_"]) if "noise_" in values else None,
        None if stored is None else _built(stored.pop("kind"), stored),
        schema=None
        if variables is None
        else data.Schema(
            input=data.SideSchema(names=tuple(variables["input"]), space=domain),
            output=data.SideSchema(names=tuple(variables["output"]), space=output),
        ),
    )


def _built(name: str, arguments: dict[str, Any]) -> Any:
    return archive.built(name, arguments, CLASSES)


def check(trained: Trained) -> None:
    """Refuse invalid settings, sizes that contradict one another, and features that need too much memory."""
    settings, frame, coef = trained.settings, trained.frame, trained.solution.coef
    settings.check()
    kind = coefficients_of(settings)
    if not kind.complete(frame, trained.solution):
        raise RaffiaError(
            f"n_features={settings.n_features} does not go with coefficients of shape {tuple(coef.shape)} and outputs of shape "
            f"{frame.output_nodes.shape}."
        )
    if not isfinite(coef).all():
        raise RaffiaError("its coefficients are not finite.")
    if not math.isinf(settings.n_features):
        check_drawn(int(settings.n_features), settings.feature_map.theta_shape)
    if frame.input != settings.feature_map.domain:
        raise RaffiaError(f"its features take functions on {settings.feature_map.domain}, and its inputs are on {frame.input}.")
    if frame.equalities != settings.equalities:
        raise RaffiaError(f"its settings name other equalities, {settings.equalities}, than its frame, {frame.equalities}.")
    check_spaces(settings.constraints, frame.input, frame.output)
    _check_scaling("input", frame.input_scaling, frame.input, frame.input_nodes)
    _check_scaling("output", frame.output_scaling, frame.output, frame.output_nodes)
    offset = frame.output_scaling.offset
    _check_shape("measure", frame.measure.offset, None if offset is None else tuple(offset.shape))
    components = frame.output_nodes.shape[0] if frame.output_nodes.has_components else 1
    for values in () if trained.sizes is None else (trained.sizes.norms, trained.sizes.spreads):
        _check_shape("error", values, (components,))
    if trained.novelty is not None:
        _check_scaling("novelty", trained.novelty.scaling, frame.input, frame.input_nodes)
        _check_shape("novelty", trained.novelty.mean, (frame.input_nodes.size,))
        _check_shape("novelty", trained.novelty.components, (len(trained.novelty.components), frame.input_nodes.size))
        _check_shape("novelty", trained.novelty.limits, (3,))
    if trained.error_bars is not None:
        _check_shape("error", trained.error_bars.deviation, frame.output_nodes.shape)
    if trained.partner is not None:
        check(trained.partner)


def check_drawn(n_features: int, shape: tuple[int, ...]) -> None:
    """Refuse features with far more random numbers than a file of this size can need."""
    if any(size < 1 for size in shape):
        raise RaffiaError(f"its features have random numbers of shape {shape}: a count in its settings is not positive.")
    if n_features * math.prod(shape) > max(DEFAULTS.most_drawn, n_features * DEFAULTS.most_per_feature):
        raise RaffiaError(
            f"its {n_features} features take {math.prod(shape):.3g} random numbers each, far more than a file of this size can need."
        )


def _check_scaling(name: str, scaling: Scaling, space: Space, nodes: Nodes) -> None:
    """Refuse scalings that do not have one shift and scale for each component; a shift may be a function."""
    shape = tuple(nodes.shape[0] if axis == 0 and space.has_components else 1 for axis in range(space.ndim))
    _check_shape(name, scaling.scale, None if scaling.shift is None else shape)
    if scaling.shift is not None:
        _check_shape(name, scaling.shift, shape if scaling.nodes is None else scaling.nodes.shape)


def _check_shape(name: str, values: Tensor | None, wanted: tuple[int, ...] | None) -> None:
    if (None if values is None else tuple(values.shape)) != wanted:
        raise RaffiaError(f"its {name} scaling is of another shape than its {name}s.")
