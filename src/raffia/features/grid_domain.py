"""Where features that need a grid live."""

from raffia.errors import RaffiaError
from raffia.spaces import Domain, Space


def region_of(space: Space, name: str) -> Domain:
    """The torus or box of inputs with one or several channels; other spaces are refused by the features of that name."""
    domain = space.one_channel
    if not isinstance(domain, Domain) or domain.dim < 1:
        raise RaffiaError(f"{name} needs functions on a grid of a line, a square or a cube; got {space!r}.")
    return domain
