"""What arrays of numbers must be, before anything else is asked of them."""

import torch

from raffia.errors import RaffiaError


def check_dense(name: str, values: object) -> None:
    """Refuse tensors that do not hold all their values side by side: sparse ones, and those on the device meta."""
    if getattr(values, "is_meta", False):
        raise RaffiaError(
            f"{name} must hold values; got a tensor on the device meta, which has none. Make it on the cpu or cuda."
        )
    if getattr(values, "layout", torch.strided) != torch.strided:
        raise RaffiaError(f"{name} must be a dense tensor; got {values.layout}. Pass {name}.to_dense().")  # type: ignore[attr-defined]
