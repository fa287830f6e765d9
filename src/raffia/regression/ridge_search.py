"""The ridge of the least error: one ridge for a whole problem (`best_ridge`), or one for each block at once (`search_ridges`).

Both try a few powers of ten, then take the vertex of a parabola through the best and its neighbours. `search_ridges` compares two
variants of a model on the way. It keeps the better one; its squared errors add over the blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.regression_defaults import AROUND, COARSE, EXPLAINED, FAINT, LARGE, SMALL, VARIANT_TOLERANCE

DECADES = tuple(range(-16, 1))


def best_ridge(
    errors: Callable[[Sequence[float]], Float[Tensor, "ridges n"]], scale: float, decades: Sequence[int] = DECADES
) -> tuple[float, float]:
    """The ridge of the least mean error, and that error.

    Tries 10^k times `scale` for all k in `decades`, then the vertex of the parabola through the best and its neighbours on logarithmic
    scales. With few samples the error is a rough function of the ridge, and its exact minimum would be a worse choice.
    """
    means = errors([scale * 10.0**k for k in decades]).mean(1)
    best = int(means.argmin())
    if not torch.isfinite(means[best]):
        raise RaffiaError("no ridge has a finite error on the left-out samples: check the data, or pass ridge as a number.")
    if not 0 < best < len(decades) - 1 or not torch.isfinite(means[best - 1 : best + 2]).all():
        return scale * 10.0 ** decades[best], float(means[best])
    left, middle, right = means[best - 1 : best + 2].log().tolist()
    bend = left - 2 * middle + right
    step = (decades[1] - decades[0]) * ((left - right) / (2 * bend) if bend > 0 else 0.0)
    ridge = scale * 10.0 ** (decades[best] + step)
    return ridge, float(errors([ridge]).mean())


INF = float("inf")

Squares = Float[Tensor, "blocks n variants"]
"""|e_i(k)|² of each sample, relative to its size."""


@dataclass(frozen=True, eq=False)
class _Tried:
    """Exponents that were tried, and the squared errors they gave, for every block."""

    twice: Float[Tensor, "blocks"]
    powers: list[Float[Tensor, "blocks"]] = field(default_factory=list)
    squares: list[Squares] = field(default_factory=list)

    def add(self, power: Tensor, squares: Squares) -> None:
        self.powers.append(power)
        self.squares.append(torch.nan_to_num(squares, nan=INF))

    def sums(self, variant: int) -> Float[Tensor, "tried blocks"]:
        return torch.stack([squares[:, :, variant].sum(1) for squares in self.squares])

    def best(self, variant: int) -> Int[Tensor, "blocks"]:
        """The index of the best exponent for each block; of equal ones the largest."""
        sums, powers = self.sums(variant), torch.stack(self.powers)
        return torch.where(sums == sums.amin(0), powers, -INF).argmax(0)

    def error(self, variant: int) -> float:
        """The mean over samples of (Σ_k |e_i(k)|²)^½, with the best of each block."""
        index = self.best(variant)[None, :, None].expand(1, -1, self.squares[0].shape[1])
        kept = torch.stack([squares[:, :, variant] for squares in self.squares]).gather(0, index)[0]
        return float((self.twice[:, None] * kept).sum(0).sqrt().mean())

    def better(self) -> int:
        errors = [self.error(variant) for variant in range(self.squares[0].shape[2])]
        finite = [error if error == error else INF for error in errors]
        if min(finite) == INF:
            raise RaffiaError("no ridge has a finite error on the left-out samples: check the data, or pass ridge as a number.")
        best = finite.index(min(finite))
        spoilt = self.faint & (self.sums(best).amin(0) > self.there)
        return 0 if best and bool(spoilt.any()) and finite[0] <= VARIANT_TOLERANCE * finite[best] else best

    @property
    def there(self) -> Float[Tensor, "blocks"]:
        """The outputs themselves: the first power is infinite, and the first variant has no ordinary part then."""
        return self.sums(0)[0]

    @property
    def faint(self) -> Bool[Tensor, "blocks"]:
        """Blocks with so little in them that it may be rounding, which a model would make grow, step by step."""
        return self.there < FAINT * (self.twice * self.there).sum() / self.twice.sum()

    def vertex(self, variant: int) -> Float[Tensor, "blocks"]:
        """The power at the vertex of the parabola through the best and its neighbours, on logarithmic scales, or infinite."""
        powers, order = torch.stack(self.powers).sort(0)
        logs = self.sums(variant).clamp(min=torch.finfo(powers.dtype).tiny).log().gather(0, order)
        place = (order == self.best(variant)).to(torch.int).argmax(0)
        finite = torch.isfinite(powers).sum(0)
        middle = torch.minimum(place.clamp(min=1), finite - 2)
        (x0, f0), (x1, f1), (x2, f2) = [[p.gather(0, (middle + i)[None])[0] for p in (powers, logs)] for i in (-1, 0, 1)]
        up, down = (x1 - x0) * (f1 - f2), (x1 - x2) * (f1 - f0)
        move = ((x1 - x0) * up - (x1 - x2) * down) / (2 * (up - down))
        inside = (place == middle) & torch.isfinite(move)
        chosen = powers.gather(0, place[None])[0]
        return torch.where(inside, torch.minimum(torch.maximum(chosen - move, x0), x2), chosen)


def search_ridges(
    scales: Float[Tensor, "blocks"],
    twice: Float[Tensor, "blocks"],
    squares: Callable[[Float[Tensor, "some"], Int[Tensor, "some"] | None], Squares],
) -> tuple[int, Float[Tensor, "blocks"], float]:
    """The better variant, its ridges and its error. `squares` gives the squared errors of some blocks, or of all."""
    tried, everywhere = _Tried(twice), torch.ones_like(scales)
    for power in (INF, *COARSE):
        tried.add(everywhere * power, squares(scales * 10.0**power, None))
    variant = tried.better()
    base = torch.stack(tried.powers).gather(0, tried.best(variant)[None])[0].clamp(max=COARSE[-1])
    for step in AROUND:
        tried.add(base + step, squares(scales * 10.0 ** (base + step), None))
    variant = tried.better()
    best = torch.stack(tried.powers).gather(0, tried.best(variant)[None])[0]
    for power, wanted in ((SMALL, best <= COARSE[0] + AROUND[0]), (LARGE, best >= COARSE[-1] + AROUND[-1])):
        if wanted.any():
            some, more = (
                wanted.nonzero()[:, 0],
                torch.full_like(tried.squares[0], INF),
            )  # infinite elsewhere, so never chosen
            more[some] = squares(scales[some] * 10.0**power, some)
            tried.add(everywhere * power, more)
    idle = tried.faint & (tried.sums(variant).amin(0) > (1 - EXPLAINED) * tried.there) & (variant == 0)
    return variant, torch.where(idle, INF, scales * 10.0 ** tried.vertex(variant)), tried.error(variant)
