"""How near inputs held out are to those trained on: of series in time, whose steps resemble one another, errors would look too small."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.measures.noise import white_noise

DIRECTIONS = 64  # random projections, through which inputs of more numbers are compared
COMPARED = 256  # inputs held out that are looked at
LEAST_HELD, LEAST_TRAINED = 4, 16  # fewer say nothing of an order
NEAR, CLOSE = 0.5, 0.1  # of the usual distance: neighbours in a series, and inputs that are nearly known


@dataclass(frozen=True)
class Nearness:
    """How near inputs held out are to the nearest of the training, and whether their places in the file tell which one that is."""

    distance: float
    """The median distance to the nearest of the training, in units of the usual distance between inputs."""
    beside: float
    """The share of them whose nearest is the row before or after them, of those trained on, or always as many rows away. Of rows in no
    order it is small."""
    compared: int
    trained: int

    @property
    def in_order(self) -> bool:
        """Whether rows follow one another, in time or in a sweep."""
        enough = self.compared >= LEAST_HELD and self.trained >= LEAST_TRAINED
        return enough and self.beside > 0.5 and self.distance < NEAR

    @property
    def close(self) -> bool:
        """Whether inputs held out are nearly known, in whatever order they are."""
        return self.compared >= LEAST_HELD and self.distance < CLOSE


def nearness(inputs: Tensor, held: Int[Tensor, "held"], rest: Int[Tensor, "rest"]) -> Nearness:
    """That of the inputs of the numbers `held` to those of the numbers `rest`; inputs are in units that compare."""
    places = _places(inputs)
    rest = rest.sort().values
    held = held[torch.linspace(0, len(held) - 1, min(len(held), COMPARED)).round().long()]
    apart = torch.cdist(places[held], places[rest])
    usual = float(apart.median())
    nearest, which = apart.min(1)
    after = torch.searchsorted(rest, held)
    sides = torch.stack([(after - 1).clamp(min=0), after.clamp(max=len(rest) - 1)], 1)
    beside = float((apart.gather(1, sides).amin(1) <= nearest * (1 + 1e-9)).double().mean())
    steps = (
        (rest[which] - held).abs().unique(return_counts=True)[1]
    )  # of several series side by side, as many rows as there are series
    distance = float(nearest.median()) / usual if usual else 0.0
    return Nearness(distance, max(beside, int(steps.max()) / len(held)), len(held), len(rest))


def _places(inputs: Tensor) -> Float[Tensor, "n places"]:
    """The inputs as points, of many numbers by random projections, which keep distances within a few per cent."""
    flat = inputs.detach().reshape(len(inputs), -1)
    if flat.shape[1] <= DIRECTIONS:
        return flat.double().cpu()
    directions = white_noise(DIRECTIONS, (flat.shape[1],), 0, "neighbours").mT.to(flat.device)
    return torch.cat([part.double() @ directions for part in flat.split(max(1, 2**22 // flat.shape[1]))]).cpu()
