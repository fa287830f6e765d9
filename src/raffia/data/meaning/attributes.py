"""What names and attributes say of arrays and axes, by the conventions for climate and forecast files (CF) and by usage."""

from raffia.data.readers import Variable

SAMPLES = (
    "sample", "samples", "realization", "realisation", "realizations", "ensemble", "ens", "member", "members", "number", "run", "runs",
    "case", "cases", "batch", "snapshot", "snapshots", "trial", "instance", "obs", "n_samples", "nsamples", "simulation", "sim", "draw",
)  # fmt: skip
TIMES = ("time", "t", "times", "date", "valid_time", "forecast_time", "step")
PLACES = (
    "x", "y", "z", "lat", "lon", "latitude", "longitude", "lev", "level", "depth", "height", "altitude", "pressure", "plev", "theta", "phi",
    "r", "rlat", "rlon", "nav_lat", "nav_lon", "xc", "yc", "northing", "easting", "node", "nodes", "point", "points", "cell", "cells",
    "space", "frequency", "wavelength", "complex",
)  # fmt: skip
STANDARD = ("latitude", "longitude", "projection", "height", "depth", "altitude", "pressure", "grid_latitude", "grid_longitude")
BOUNDS = ("bnds", "bounds", "_bnd", "limits", "vertices")


def text(variable: Variable | None, attribute: str) -> str:
    """An attribute as lower-case text; empty where there is none."""
    return "" if variable is None else str(variable.attributes.get(attribute, "")).strip()


def units(variable: Variable) -> str:
    """The units that an array says to have."""
    return text(variable, "units")


def bounds(arrays: dict[str, Variable]) -> set[str]:
    """The names of arrays that hold the ends of cells, which are no nodes and no functions."""
    said = {text(v, "bounds") for v in arrays.values()} | {text(v, "climatology") for v in arrays.values()}
    return {name for name in arrays if name in said or name.rpartition("/")[2].lower().endswith(BOUNDS)}


def counts_samples(dim: str, coordinate: Variable | None) -> bool:
    """Whether an axis counts samples by its name, or by what its coordinates say."""
    return (
        word(dim) in SAMPLES
        or text(coordinate, "standard_name").lower() == "realization"
        or text(coordinate, "axis").upper() == "E"
    )


def is_time(dim: str, coordinate: Variable | None) -> bool:
    """Whether an axis is one of time."""
    said = text(coordinate, "standard_name").lower() == "time" or text(coordinate, "axis").upper() == "T"
    return said or " since " in text(coordinate, "units").lower() or word(dim) in TIMES


def is_place(dim: str, coordinate: Variable | None) -> bool:
    """Whether an axis is one of space, so that it does not count samples."""
    if text(coordinate, "axis").upper() in ("X", "Y", "Z") or text(coordinate, "standard_name").lower().startswith(STANDARD):
        return True
    return text(coordinate, "units").lower().startswith("degree") or word(dim) in PLACES


def word(name: str) -> str:
    """The last part of a name, in small letters: t of run/t, and of t-coordinate."""
    return name.rpartition("/")[2].lower().removesuffix("-coordinate").removesuffix("_coordinate")
