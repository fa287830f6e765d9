"""Inputs without outputs, to predict from: understood as `open_source` understands them."""

import os
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from raffia.data import own
from raffia.data.formats import variables
from raffia.data.meaning.names import PAIRS, contents
from raffia.data.source import open_source
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Space, Vectors


def read_inputs(
    path: str | os.PathLike[str], input: Sequence[str] | None = None, domain: Space | None = None
) -> tuple[Tensor, Domain | None]:
    """The inputs in a file: its arrays `input`, or `a`, or the only one; and their domain, where the file says.

    `domain` is the space that they are to be in; several arrays are channels, or the components of vectors.
    """
    place = Path(path)
    found = variables(place)
    numeric = {name: v for name, v in found.items() if v.numeric and v.shape}
    usual = [name for name in numeric if name.lower() in {a for a, _ in PAIRS}]
    chosen = list(input or ()) or (
        ["a"] if "a" in numeric else list(numeric) if len(numeric) == 1 else usual if len(usual) == 1 else []
    )
    missing = [name for name in chosen if name not in numeric]
    if missing or not chosen:
        raise RaffiaError(f"{place} must hold an array of inputs named {(missing or ['a'])[0]}. {contents(found)}")
    for name in chosen:
        if 0 in numeric[name].shape:
            raise RaffiaError(f"{name} in {place} must hold at least one sample; it has shape {numeric[name].shape}.")
    told = own.told(place, found)
    one = None if domain is None else domain.one_channel
    periodic = one.periodic if isinstance(one, Domain) and one.dim else None
    as_vectors = domain if isinstance(domain, Vectors) else None
    plain = isinstance(domain, Domain) and len(chosen) == 1
    source = open_source(place, input=chosen, output=chosen, periodic=periodic, domain=domain if plain else as_vectors)
    return source.read(slice(None))[0], told[0] if told else None
