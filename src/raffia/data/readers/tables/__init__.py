"""Tables in text files: comma-separated values and their kin, as named arrays."""

from raffia.data.readers.tables.reader import variables

__all__ = ["variables"]
