"""Readers of files: each takes a path and gives the named arrays in it, with dimensions and attributes, read lazily by rows."""

from raffia.data.readers.damage import naming
from raffia.data.readers.detect import variables
from raffia.data.readers.folders.stacked import NAMES, NUMBERS
from raffia.data.readers.layout import WIDE, Layout, resampling
from raffia.data.readers.missing import check_whole, decode
from raffia.data.readers.selection import selected
from raffia.data.readers.variable import LOOKED_AT, Rows, Variable, files_of

__all__ = [
    "LOOKED_AT",
    "NAMES",
    "NUMBERS",
    "WIDE",
    "Layout",
    "Rows",
    "Variable",
    "check_whole",
    "decode",
    "files_of",
    "naming",
    "resampling",
    "selected",
    "variables",
]
