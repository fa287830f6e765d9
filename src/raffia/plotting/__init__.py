"""One function per picture. Each returns a matplotlib Figure and touches no global state; save it with `figure.savefig`."""

from matplotlib.figure import Figure

from raffia.plotting.curves import brownian_bridge, error_against_resolution, search
from raffia.plotting.error_plots import errors, errors_against_parameters, errors_along, errors_by_group, parity
from raffia.plotting.inverse_plot import posterior
from raffia.plotting.layout import ERROR, INK, PREDICTION, TRUTH, Array
from raffia.plotting.ruler import Labels
from raffia.plotting.samples import fields, pair, prediction
from raffia.plotting.time_plots import errors_in_time, evolution, spectra

__all__ = [
    "ERROR",
    "INK",
    "PREDICTION",
    "TRUTH",
    "Array",
    "Figure",
    "Labels",
    "brownian_bridge",
    "error_against_resolution",
    "errors",
    "errors_against_parameters",
    "errors_along",
    "errors_by_group",
    "errors_in_time",
    "evolution",
    "fields",
    "pair",
    "parity",
    "posterior",
    "prediction",
    "search",
    "spectra",
]
