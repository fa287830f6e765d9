"""Files of many formats, all read as named arrays; what the arrays mean is for `raffia.data.meaning`."""

from raffia.data.formats.detect import variables
from raffia.data.formats.variable import Variable

__all__ = ["Variable", "variables"]
