"""Reading and writing datasets."""

from raffia.data.npz import dimension, read, read_inputs, write

__all__ = ["dimension", "read", "read_inputs", "write"]
