"""Writing files: atomically, and as archives of configurations and tensors."""

from raffia.storage.atomic import atomic, destination

__all__ = ["atomic", "destination"]
