"""Whether an input is like the training inputs: its distances from them, relative to those of inputs that were left out.

With the mean m, the leading principal components u_k of the training inputs and their variances λ_k, an input x has three distances:

    d²(x) = Σ_k ⟨x − m, u_k⟩² / λ_k,     e²(x) = ‖x − m‖² − Σ_k ⟨x − m, u_k⟩²,     g²(x) = ‖∇x‖² or max_j x_j².

The distance d is measured within the span of the components, e outside of it. g is the norm of the slopes on a grid, and the largest
value elsewhere. Large inputs have a large d, new shapes a large e, rough inputs a large g. Each distance is
divided by what it reaches for training inputs that were left out when the components were computed.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from scipy.stats import t as student
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.model.preprocessing import Scaling
from raffia.model.splitting import groups_of
from raffia.spaces import Nodes, Space, resample

COMPONENTS = 48  # at most: more of them hardly tell more, and model files hold them
INPUTS_PER_COMPONENT = 3  # fewer inputs give variances that are far off
MOST_INPUTS = 1024  # that components are computed from
FEWEST_INPUTS = 4
FOLDS = 10  # of the training inputs, each compared with the others
FLOOR = 1e-6  # of the mean energy of inputs: smaller differences may come from interpolation between grids
NAMED = 10  # inputs that a warning lists
TAIL = 0.014  # the share of inputs like the training's that each distance flags


@dataclass(frozen=True, eq=False)
class Novelty:
    """The distance of inputs from the training inputs: below 1 they are similar, at 2 they are twice as far away as similar inputs."""

    scaling: Scaling
    mean: Float[Tensor, "size"]
    components: Float[Tensor, "rank size"]
    """Principal components of the scaled inputs, divided by their standard deviations."""
    limits: Float[Tensor, "3"]
    """What the squared distances reach for inputs like those of the training."""
    floor: float

    @classmethod
    def of(cls, a: Float[Tensor, "n *input"], space: Space) -> "tuple[Novelty, Float[Tensor, 'some']]":
        """Computed from training inputs; also the novelty of some of these, spread evenly, had they been left out."""
        if len(a) < FEWEST_INPUTS:
            raise RaffiaError(f"novelty compares with the training inputs and needs {FEWEST_INPUTS} or more; got {len(a)}.")
        a = a[evenly(len(a), MOST_INPUTS).to(a.device)].double().cpu()
        groups, label = groups_of(a).unique(return_inverse=True)  # repeated inputs are left out together
        scaling, fold = Scaling.of(a, space), label % min(FOLDS, max(2, len(groups)))
        rank = min(COMPONENTS, max(1, len(groups) * (FOLDS - 1) // FOLDS // INPUTS_PER_COMPONENT), a[0].numel())
        squares = torch.empty(len(a), 3, dtype=torch.float64)
        for k in fold.unique():
            squares[fold == k] = cls._unlimited(a[fold != k], scaling, rank).distances(a[fold == k], space)
        roots = squares ** (1 / 3)  # nearly normal, for sums of squares
        reach = float(student.ppf(1 - TAIL, max(1, len(groups) - 1))) * math.sqrt(1 + 1 / len(groups))
        limits = (roots.mean(0) + reach * roots.std(0)) ** 3
        whole = cls._unlimited(a, scaling, rank)
        return cls(scaling, whole.mean, whole.components, limits, whole.floor), _largest(squares, limits)

    @classmethod
    def _unlimited(cls, a: Tensor, scaling: Scaling, rank: int) -> "Novelty":
        """Return principal components without limits, which are all 1."""
        flat = scaling.apply(a).flatten(1)
        mean = flat.mean(0)
        _, s, directions = torch.linalg.svd(flat - mean, full_matrices=False)
        energy = max(float(s.square().sum()) / len(a), torch.finfo(torch.float64).tiny)
        deviations = s[:rank] / math.sqrt(len(a))
        kept = deviations.square() > FLOOR * energy
        components = directions[:rank][kept] / deviations[kept, None]
        return cls(scaling, mean, components, torch.ones(3, dtype=torch.float64), FLOOR * energy)

    def distances(self, a: Float[Tensor, "n *input"], space: Space) -> Float[Tensor, "n 3"]:
        """Return the squared distances d², e² and g² of each input from the training inputs, defined above.

        A small constant is added to e² and g², so that differences by interpolation do not count.
        """
        values = self.scaling.apply(a.double().cpu())
        centred = values.flatten(1) - self.mean
        places = centred @ self.components.mT
        inside = places @ (self.components / self.components.square().sum(1, keepdim=True))
        outside = (centred - inside).square().sum(1)
        if space.one_channel.gridded:
            axes = range(values.ndim - space.one_channel.dim, values.ndim)
            third = torch.stack([values.diff(dim=axis).square().flatten(1).sum(1) for axis in axes]).sum(0)
        else:
            third = values.flatten(1).square().amax(1)
        return torch.stack([places.square().sum(1), outside + self.floor, third + self.floor], 1)

    def __call__(self, a: Float[Tensor, "n *input"], space: Space, nodes: Nodes) -> Float[Tensor, "n"]:
        """Of inputs in the units of the data, on any grid; `nodes` are those of the training."""
        here, there = space.grid_of(a).one_channel, nodes.one_channel
        if here != there:
            a = resample(a, here, there, smooth=True)
        return _largest(self.distances(a, space), self.limits)


def warning_of(novelty: Float[Tensor, "n"]) -> str:
    """Return a warning that lists the inputs outside the training data, or an empty string."""
    outside = (novelty > 1).nonzero()[:, 0]
    if not len(outside):
        return ""
    named = ", ".join(map(str, outside[:NAMED].tolist())) + (", …" if len(outside) > NAMED else "")
    return (
        f"{len(outside)} of {len(novelty)} inputs lie outside the training data: {named} (novelty up to {float(novelty.max()):.3g}, where "
        "training inputs stay below 1). Predictions there are extrapolations; errors may be much larger than reported."
    )


def _largest(squares: Float[Tensor, "n 3"], limits: Float[Tensor, "3"]) -> Float[Tensor, "n"]:
    return (squares / limits).amax(1).sqrt()


def evenly(n: int, count: int) -> Tensor:
    """Indices of at most `count` of n rows, evenly spread."""
    return torch.linspace(0, n - 1, min(n, count)).round().long()
