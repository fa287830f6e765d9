"""Errors of predictions: norms of differences, what models are judged by, and what is reported."""

from raffia.metrics.error_measure import Deviations, ErrorMeasure, Relative, RootMeanSquare
from raffia.metrics.norms import bochner_error, relative_error, relative_errors
from raffia.metrics.sizes import Errors, Sizes
from raffia.spaces import Nodes

__all__ = ["ErrorMeasure", "Errors", "bochner_error", "relative_error", "relative_errors"]

MEASURES: tuple[type[ErrorMeasure], ...] = (Deviations, RootMeanSquare, Relative)
"""A model is judged by the first of these that applies to its outputs."""


def measure_for(grid: Nodes, normalized: bool) -> type[ErrorMeasure]:
    """The measure of errors of outputs on these nodes."""
    return next(measure for measure in MEASURES if measure.applies(grid, normalized))
