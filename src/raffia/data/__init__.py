"""Reading and writing datasets: arrays in files of many formats, what they mean, and pairs of functions from them."""

from raffia.data.dataset import Array, Batch, Dataset, InMemory, Pairs, Part, Readable, elements_of
from raffia.data.opening import labels_in, open_source, read
from raffia.data.options import ReadingOptions
from raffia.data.own import write, write_trajectories
from raffia.data.readers import Layout, Variable, variables
from raffia.data.schema import ArrayLayout, AxisLabel, SideSchema
from raffia.data.source import Schema, Source, schema_for
from raffia.data.trajectories import Along, Steps

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
    "ReadingOptions",
    "Schema",
    "SideSchema",
    "Source",
    "Steps",
    "Variable",
    "elements_of",
    "labels_in",
    "open_source",
    "read",
    "schema_for",
    "variables",
    "write",
    "write_trajectories",
]
