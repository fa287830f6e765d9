"""Words in the names of columns that tell what they are."""

import re

SAMPLES = {
    "id", "sample", "samples", "run", "test", "specimen", "case", "experiment", "trial", "subject", "curve", "series", "repeat",
    "replicate", "simulation", "sim", "realization", "realisation", "instance", "patient", "station", "site", "profile",
}  # fmt: skip
PLACES = {
    "x", "y", "z", "t", "r", "s", "time", "lat", "lon", "latitude", "longitude", "strain", "wavelength", "wavenumber", "frequency",
    "freq", "position", "distance", "depth", "height", "displacement", "angle", "theta", "day", "hour", "month", "year", "date",
}  # fmt: skip


def words(name: str) -> set[str]:
    """The words of a name, as in TestID, test_id or "test id"."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)}


def names_samples(name: str) -> bool:
    """Whether a column of this name tells which sample a row belongs to."""
    return bool(words(name) & SAMPLES)


def names_places(name: str) -> bool:
    """Whether a column of this name tells where in a sample a row is."""
    found = words(name)
    return bool(found & PLACES) and (len(found) == 1 or "coordinate" in found)
