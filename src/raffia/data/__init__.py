"""Reading and writing datasets: arrays in files of many formats, what they mean, and pairs of functions from them."""

from raffia.data.along import Along
from raffia.data.dataset import Array, Batch, Dataset, InMemory, Pairs, Part, Readable, elements_of
from raffia.data.meaning.layout import ArrayLayout, AxisLabel
from raffia.data.meaning.steps import Steps
from raffia.data.own import domain_of, write, write_trajectories
from raffia.data.readers import Layout, Variable, variables
from raffia.data.reading import Reading, Source
from raffia.data.source import open_source, read
from raffia.data.stepped import reading_for
from raffia.data.trajectories import check_dense

__all__ = [
    "Along",
    "Array",
    "ArrayLayout",
    "AxisLabel",
    "Batch",
    "Dataset",
    "InMemory",
    "Layout",
    "Pairs",
    "Part",
    "Readable",
    "Reading",
    "Source",
    "Steps",
    "Variable",
    "check_dense",
    "domain_of",
    "elements_of",
    "open_source",
    "read",
    "reading_for",
    "variables",
    "write",
    "write_trajectories",
]
