"""Writing files: atomically, and as archives of configurations and tensors."""

from raffia.storage.atomic import atomic

__all__ = ["atomic"]
