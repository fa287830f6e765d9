"""Inputs without outputs, to predict from."""

import os
from pathlib import Path

import torch
from torch import Tensor

from raffia.data import own
from raffia.data.columns import Column
from raffia.data.formats import variables
from raffia.data.names import PAIRS, contents
from raffia.errors import RaffiaError
from raffia.spaces import Domain


def read_inputs(path: str | os.PathLike[str], input: str | None = None) -> tuple[Tensor, Domain | None]:
    """The inputs in a file: its array `input`, or `a`, or the only one; and their domain, where the file says."""
    place = Path(path)
    found = variables(place)
    numeric = {name: v for name, v in found.items() if v.numeric and v.shape}
    usual = [name for name in numeric if name.lower() in {a for a, _ in PAIRS}]
    chosen = input or (
        "a" if "a" in numeric else next(iter(numeric)) if len(numeric) == 1 else usual[0] if len(usual) == 1 else ""
    )
    if chosen not in numeric:
        raise RaffiaError(f"{place} must hold an array of inputs named {input or 'a'}. {contents(found)}")
    if 0 in numeric[chosen].shape:
        raise RaffiaError(f"{chosen} in {place} must hold at least one sample; it has shape {numeric[chosen].shape}.")
    inputs = Column(numeric[chosen])
    told = own.told(place, found)
    return torch.from_numpy(inputs.read(range(len(inputs)))[:, 0].copy()), told[0] if told else None


def dimension(path: str | os.PathLike[str]) -> int:
    """How many grid axes the inputs in a file have."""
    return read_inputs(path)[0].ndim - 1
