"""Pairs of functions: in memory, with the spaces they live in, or anywhere that gives them a part at a time; also of trajectories."""

from raffia.pairs.along import Along
from raffia.pairs.dataset import Array, Batch, Dataset, InMemory, Pairs, Part, Readable, elements_of
from raffia.pairs.dense import check_dense

__all__ = ["Along", "Array", "Batch", "Dataset", "InMemory", "Pairs", "Part", "Readable", "check_dense", "elements_of"]
