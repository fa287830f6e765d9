"""Several files that hold one dataset: a file for each sample, or for a part of the samples, and a table of their parameters."""

from raffia.data.readers.folders.reader import variables

__all__ = ["variables"]
