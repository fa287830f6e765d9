"""Reading and writing datasets: arrays in files of many formats, what they mean, and pairs of functions from them."""

from raffia.data.formats import variables
from raffia.data.formats.variable import Variable
from raffia.data.inputs import read_inputs
from raffia.data.own import domain_of, write
from raffia.data.source import Source, open_source, read

__all__ = ["Source", "Variable", "domain_of", "open_source", "read", "read_inputs", "variables", "write"]
