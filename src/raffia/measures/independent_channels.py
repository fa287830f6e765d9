"""Independent draws of one law as channels: the components of a random velocity."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from raffia.measures.base import Measure
from raffia.measures.noise import Rows, as_rows
from raffia.spaces import Grid


@dataclass(repr=False, eq=False)
class Copies(Measure):
    """The law of (g₁, …, g_c), all of the law `of` and independent; c is `channels`."""

    of: Measure
    channels: int

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows channels *shape"]:
        """Draw i has the draws c·i, …, c·i + c − 1 of the law."""
        rows = as_rows(rows)
        drawn = self.of.sample(range(self.channels * rows.start, self.channels * rows.stop), grid, seed)
        return drawn.unflatten(0, (len(rows), self.channels))
