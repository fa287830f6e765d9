"""Random splits into training and held-out inputs, with copies and groups on one side, and the distance between both sides."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from torch import Tensor

from raffia.measures.noise import uniform_noise, white_noise

NEAR = 1e-4  # of the usual distance between inputs: closer ones are copies
DIRECTIONS, FINENESS = 8, 1e3  # random projections, and how many steps of them NEAR has
BLOCKS = 10  # that the rows of a single label are taken apart in
ROWS = 2**22  # elements that are copied to float64 at once


def groups_of(inputs: Tensor) -> Int[Tensor, "n"]:
    """Return for each input the index of the first input that equals it exactly or nearly, which may be its own.

    Inputs are compared through a few random projections, which near inputs share, and then by their distance.
    """
    flat = inputs.detach().reshape(len(inputs), -1)
    parts = flat.split(max(1, ROWS // max(1, flat.shape[1])))
    largest = max((float(part.double().abs().max()) for part in parts if part.numel()), default=0.0)
    unit = 2.0 ** -min(
        max(math.frexp(largest)[1], -1000), 1000
    )  # brings values near 1: their squares neither overflow nor vanish
    mean = torch.stack([(part.double() * unit).sum(0) for part in parts]).sum(0) / len(flat)
    directions = white_noise(DIRECTIONS, (flat.shape[1],), 0, "copies").mT.to(flat.device) / DIRECTIONS**0.5
    centred = (part.double() * unit - mean for part in parts)
    squares, places = zip(*((part.square().sum(), part @ directions) for part in centred), strict=True)
    usual = float((torch.stack(squares).sum() / len(flat)).sqrt())
    if usual == 0:
        return torch.zeros(len(flat), dtype=torch.long)
    steps = (torch.cat(places) / (NEAR * usual / FINENESS)).round().cpu().numpy()
    distinct, first, which = np.unique(steps, axis=0, return_index=True, return_inverse=True)
    pairs = cKDTree(distinct).query_pairs(3 * FINENESS, output_type="ndarray")
    rows = [flat[torch.from_numpy(first[end]).to(flat.device)].double() * unit for end in pairs.T]
    near = pairs[((rows[0] - rows[1]).norm(dim=1) <= NEAR * usual).cpu().numpy()]
    links = coo_array((np.ones(len(near)), tuple(near.T)), shape=(len(distinct),) * 2)
    label = connected_components(links, directed=False)[1][which.reshape(-1)]
    return torch.from_numpy(np.unique(label, return_index=True)[1][label])


def firsts(groups: Int[Tensor, "n"]) -> Int[Tensor, "distinct"]:
    """Return the index of the first input of each group."""
    return (groups == torch.arange(len(groups))).nonzero()[:, 0]


def together(copies: Int[Tensor, "n"], labels: Int[Tensor, "n"] | None) -> Int[Tensor, "n"]:
    """Return groups that are held out together, as the index of the first input of each input's group.

    Inputs are in one group if they are copies, have the same label, or are linked by a chain of such inputs. If that would be
    one group for all, labels alone define the groups.
    """
    if labels is None:
        return copies
    rows = np.arange(len(copies))
    first = np.unique(labels.numpy(), return_index=True, return_inverse=True)
    own = first[1][first[2].reshape(-1)]
    ends = np.concatenate([copies.numpy(), own])
    links = coo_array((np.ones(2 * len(rows)), (np.tile(rows, 2), ends)), shape=(len(rows),) * 2)
    count, part = connected_components(links, directed=False)
    return torch.from_numpy(np.unique(part, return_index=True)[1][part] if count > 1 else own)


def blocks_of(n: int, size: int) -> Int[Tensor, "n"]:
    """Return labels that divide n rows into blocks of `size` consecutive rows."""
    return torch.arange(n) // size


def split(
    inputs: Tensor, count: int, seed: int, stream: str, labels: Int[Tensor, "n"] | None = None
) -> tuple[Int[Tensor, "held"], Int[Tensor, "rest"], str]:
    """Split inputs at random; return the indices of at most `count` held-out inputs, those of the rest, and a warning about copies.

    Inputs with equal labels, or copies without labels, are on one side. At least one group is held out and one is left for training.
    If there is one label only, blocks of consecutive rows are groups. If all inputs are copies, each is a group of its own.
    """
    order = uniform_noise(range(1), (len(inputs),), seed, stream)[0].argsort()
    copies = groups_of(inputs)
    groups = _sides(copies if labels is None else labels, labels is None)
    _, inverse, sizes = groups[order].unique(return_inverse=True, return_counts=True)
    seen = torch.full((len(sizes),), len(order)).scatter_reduce(
        0, inverse, torch.arange(len(order)), "amin"
    )  # where each begins
    queue = seen.argsort()
    taken = queue[(sizes[queue].cumsum(0) <= count) & (torch.arange(len(queue)) < len(queue) - 1)]
    if count and not len(taken):
        taken = queue[sizes[queue].argsort(stable=True)[:1]]
    held = torch.isin(inverse, taken)
    return order[held], order[~held], _copy_warning(copies, order[held], order[~held], labels is not None)


def folds_of(
    inputs: Tensor, count: int, seed: int, stream: str, labels: Int[Tensor, "n"] | None = None
) -> list[tuple[Int[Tensor, "rest"], Int[Tensor, "held"]]]:
    """Return the indices (rest, held out) of each of `count` random folds.

    Inputs with equal labels, or copies without labels, are in the same fold.
    """
    groups = _sides(groups_of(inputs) if labels is None else labels, labels is None)
    names, inverse = groups.unique(return_inverse=True)
    order = uniform_noise(range(1), (len(names),), seed, stream)[0].argsort().argsort()
    fold = (order % min(count, len(names)))[inverse]
    return [((fold != i).nonzero()[:, 0], (fold == i).nonzero()[:, 0]) for i in range(min(count, len(names)))]


def _sides(groups: Int[Tensor, "n"], of_copies: bool) -> Int[Tensor, "n"]:
    """Return the groups. A single group is divided into blocks of consecutive rows, or into rows if all inputs are copies."""
    if len(groups.unique()) > 1:
        return groups
    return blocks_of(len(groups), 1 if of_copies else max(1, len(groups) // BLOCKS))


def _copy_warning(copies: Int[Tensor, "n"], held: Int[Tensor, "held"], rest: Int[Tensor, "rest"], labelled: bool) -> str:
    """Return a warning about copies, or an empty string: copies of training inputs among held-out ones make errors too small."""
    extra, known = len(copies) - len(copies.unique()), int(torch.isin(copies[held], copies[rest]).sum())
    if not extra:
        return ""
    if known and labelled:
        return (
            f"{known} of {len(held)} inputs held out are copies of ones trained on, or nearly: what belongs together is held out whole, "
            "and comes to the same inputs. Errors of these look small."
        )
    then = "no errors can be told from them" if known else "copies are held out together, lest errors look small"
    return f"{extra} of {len(copies)} inputs are copies of others, or nearly: {then}."


NEIGHBOUR_DIRECTIONS = 64  # random projections, through which inputs of more numbers are compared
COMPARED = 256  # inputs held out that are looked at
LEAST_HELD, LEAST_TRAINED = 4, 16  # fewer say nothing of an order
NEIGHBOURS, CLOSE = 0.5, 0.1  # of the usual distance: neighbours in a series, and inputs that are nearly known


@dataclass(frozen=True)
class Nearness:
    """The distances of held-out inputs to their nearest training inputs, and whether these are next to them in the file."""

    distance: float
    """The median distance to the nearest training input, relative to the median distance between inputs."""
    beside: float
    """The share of them whose nearest is the row before or after them, of those trained on, or always as many rows away. Of rows in no
    order it is small."""
    compared: int
    trained: int

    @property
    def in_order(self) -> bool:
        """Whether the rows of the file are in order, as in a time series or a parameter sweep."""
        enough = self.compared >= LEAST_HELD and self.trained >= LEAST_TRAINED
        return enough and self.beside > 0.5 and self.distance < NEIGHBOURS

    @property
    def close(self) -> bool:
        """Whether held-out inputs are close to training inputs, in whatever order they are."""
        return self.compared >= LEAST_HELD and self.distance < CLOSE


def nearness(inputs: Tensor, held: Int[Tensor, "held"], rest: Int[Tensor, "rest"]) -> Nearness:
    """Return how near the inputs with indices `held` are to those with indices `rest`. Inputs must be scaled to comparable units."""
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
    """Return inputs as vectors. Long ones are shortened by random projections, which keep distances within a few per cent."""
    flat = inputs.detach().reshape(len(inputs), -1)
    if flat.shape[1] <= NEIGHBOUR_DIRECTIONS:
        return flat.double().cpu()
    directions = white_noise(NEIGHBOUR_DIRECTIONS, (flat.shape[1],), 0, "neighbours").mT.to(flat.device)
    return torch.cat([part.double() @ directions for part in flat.split(max(1, 2**22 // flat.shape[1]))]).cpu()
