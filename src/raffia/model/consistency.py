"""Consistency checks of a model that is read from a file."""

import math

from torch import Tensor, isfinite

from raffia.constraints import check_spaces
from raffia.errors import RaffiaError
from raffia.model.coefficients import coefficients_of
from raffia.model.model_defaults import MOST_DRAWN, MOST_PER_FEATURE
from raffia.model.scaling import Scaling
from raffia.model.trained import Trained
from raffia.spaces import Nodes, Space


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
    if n_features * math.prod(shape) > max(MOST_DRAWN, n_features * MOST_PER_FEATURE):
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
