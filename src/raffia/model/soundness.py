"""What the parts of a model in a file must agree on before they are believed: a model that was trained agrees by itself."""

import math

from torch import Tensor, isfinite

from raffia.errors import RaffiaError
from raffia.spaces import POINT, Nodes, Space
from raffia.training.scaling import Scaling
from raffia.training.trained import Trained

MOST_DRAWN, MOST_PER_FEATURE = 2**26, 2**14
"""Random numbers that the features of a model may take: 512 MiB of them, or so many for each coefficient in the file."""


def check(trained: Trained) -> None:
    """Refuse settings that no model has, and sizes that contradict one another or that the file does not account for."""
    settings, frame, coef = trained.settings, trained.frame, trained.solution.coef
    settings.check()
    if coef.shape[:1] != (settings.n_features,) or not coef.dtype.is_floating_point:
        raise RaffiaError(f"n_features={settings.n_features} does not go with coefficients of shape {tuple(coef.shape)}.")
    if not isfinite(coef).all():
        raise RaffiaError("its coefficients are not finite.")
    check_drawn(settings.n_features, settings.feature_map.theta_shape)
    if frame.input != settings.feature_map.domain:
        raise RaffiaError(f"its features take functions on {settings.feature_map.domain}, and its inputs are on {frame.input}.")
    outputs = frame.output_nodes
    columns = outputs.size if frame.values == POINT else outputs.size // outputs.one_channel.size
    if coef.numel() != settings.n_features * columns:
        raise RaffiaError(f"outputs of shape {outputs.shape} do not go with coefficients of shape {tuple(coef.shape)}.")
    _check_scaling("input", frame.input_scaling, frame.input, frame.input_nodes)
    _check_scaling("output", frame.output_scaling, frame.output, outputs)
    offset = frame.output_scaling.offset
    _check_shape("measure", frame.measure.offset, None if offset is None else tuple(offset.shape))


def check_drawn(n_features: int, shape: tuple[int, ...]) -> None:
    """Refuse features that would take more random numbers than a file of so few coefficients accounts for."""
    if any(size < 1 for size in shape):
        raise RaffiaError(f"its features have random numbers of shape {shape}: a count in its settings is not positive.")
    if n_features * math.prod(shape) > max(MOST_DRAWN, n_features * MOST_PER_FEATURE):
        raise RaffiaError(
            f"its {n_features} features take {math.prod(shape):.3g} random numbers each, far more than such a file accounts for."
        )


def _check_scaling(name: str, scaling: Scaling, space: Space, nodes: Nodes) -> None:
    """One pair of numbers, or one for each component."""
    shape = tuple(nodes.shape[0] if axis == 0 and space.has_components else 1 for axis in range(space.ndim))
    for values in (scaling.shift, scaling.scale):
        _check_shape(name, values, None if scaling.shift is None else shape)


def _check_shape(name: str, values: Tensor | None, wanted: tuple[int, ...] | None) -> None:
    if (None if values is None else tuple(values.shape)) != wanted:
        raise RaffiaError(f"its {name} scaling is of another shape than its {name}s.")
