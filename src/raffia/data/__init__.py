"""Reading and writing datasets: arrays in files of many formats, what they mean, and pairs of functions from them."""

from raffia.data.meaning.layout import ArrayLayout, AxisLabel
from raffia.data.meaning.steps import Steps
from raffia.data.own import domain_of, write, write_trajectories
from raffia.data.readers import Layout, Variable, variables
from raffia.data.reading import Reading, Source
from raffia.data.source import open_source, read
from raffia.data.stepped import reading_for

__all__ = [
    "ArrayLayout",
    "AxisLabel",
    "Layout",
    "Reading",
    "Source",
    "Steps",
    "Variable",
    "domain_of",
    "open_source",
    "read",
    "reading_for",
    "variables",
    "write",
    "write_trajectories",
]
