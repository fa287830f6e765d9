"""Product features of given pairs: which products, with which cutoff, in how many substeps, and their multipliers.

With multipliers given, outputs are linear in what is unknown, D^s a + Σ_j D^(s−1−j) (B P(v_j) + E (P(v'_j) − P(v_j))) + c, and a
least-squares problem for each wave finds D^s, B, E and c. These are new multipliers, and make a new problem. Steps of exponential time
differencing are a fixed point, which is reached from none at all in a few repetitions.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Complex
from torch import Tensor

from raffia.features.base import channelled, region_of
from raffia.features.products import ProductFeatures, Products, Substep
from raffia.spaces import Space


@dataclass(frozen=True)
class ProductDefaults:
    """Numbers that decide which product features are found."""

    ridge: float = 1e-13
    """The ridge beside features of size one: what rounding asks for."""
    rounds: int = 16
    """Repetitions at most."""
    tried_rounds: int = 3
    """Repetitions where multipliers are only compared."""
    settled: float = 1e-3
    """Predictions that change by less than this share of the error end the repetitions."""
    worse: float = 1.5
    """Multipliers diverge above this many times the least error."""
    less: float = 0.9
    """Another kind of product, or more substeps, must have less than this share of the error."""
    cutoffs: tuple[float, ...] = (1.0, 2 / 3, 0.5)
    """No cutoff, and those that quadratic and cubic products ask for."""
    substeps: tuple[int, ...] = (2, 3, 4, 5, 8, 10, 16, 20)
    """Numbers of substeps, in the order tried."""
    searched: int = 2**17
    """Values of the pairs that choices are made by."""
    fewest: int = 16
    """But at least this many pairs."""
    larger: float = 4.0
    """States between inputs and outputs may be this many times as large as the largest of them."""
    rounding: float = 1e-14
    """Coefficients below this share of the largest are rounding, and nothing is proportional to them."""


DEFAULTS = ProductDefaults()
ENOUGH = {torch.float32: 1e-6, torch.float64: 1e-9}  # an error below which fewer kinds are as good


@dataclass(frozen=True)
class Problem:
    """Spectra of inputs and outputs, (n, channels, *modes): some to learn from, the others to judge by."""

    U: Complex[Tensor, "n channels *modes"]
    Y: Complex[Tensor, "n channels *modes"]
    learnt: int
    """How many are learnt from: the first."""
    sourced: bool = False

    @cached_property
    def limit(self) -> float:
        """The norm that states between inputs and outputs may have."""
        return DEFAULTS.larger * max(float(torch.linalg.vector_norm(f.flatten(1), dim=1).max()) for f in (self.U, self.Y))

    def error(self, guess: Tensor) -> float:
        """The relative error on those to judge by, or on all where none are left."""
        judged = slice(self.learnt if self.learnt < len(self.U) else 0, None)
        return float((guess - self.Y)[judged].norm() / self.Y[judged].norm())

    def update(self, step: Substep, products: Products, substeps: int) -> tuple[Substep, Tensor]:
        """Return new multipliers and their predictions: least squares, with the products along `step` held fixed."""
        sums = step.sums(products, self.U, substeps, self.limit)
        channels, sizes = self.U.shape[1], [self.U.shape[1], products.count, products.count, int(self.sourced)]
        solved = [self._solved(i, *(part[:, i if substeps > 1 else 0] for part in sums)) for i in range(channels)]
        coef, guess = (torch.stack(parts, dim) for dim, parts in enumerate(zip(*solved, strict=True)))
        D, B, E, f = coef.split(sizes, 1)
        D = rooted(D, substeps)
        return Substep(D, B, E, shared(D, substeps, f[:, 0]) if self.sourced else torch.zeros_like(self.U[0])), guess

    def begun(self, products: Products) -> Substep:
        """An explicit step: a multiplier and products of the input alone."""
        channels, parts = self.U.shape[1], products(self.U)
        coef = torch.stack([self._solved(i, parts)[0] for i in range(channels)])
        D, B, f = coef.split([channels, products.count, int(self.sourced)], 1)
        return Substep(D, B, B / 2, f[:, 0] if self.sourced else torch.zeros_like(self.U[0]))

    def _solved(self, i: int, *parts: Tensor) -> tuple[Tensor, Tensor]:
        """Coefficients with which inputs, these parts and a source give channel i of outputs best, and what they predict."""
        columns = torch.cat([self.U, *parts, *[torch.ones_like(self.U[:, :1])] * self.sourced], 1)
        coef = least_squares(columns[: self.learnt], self.Y[: self.learnt, i])
        return coef, (coef * columns).sum(1)


def least_squares(columns: Complex[Tensor, "n p *modes"], y: Complex[Tensor, "n *modes"]) -> Complex[Tensor, "p *modes"]:
    """For each wave, the coefficients of the columns."""
    modes = y.shape[1:]
    A, b = columns.flatten(2).permute(2, 0, 1), y.flatten(1).T[..., None]
    size = A.abs().square().sum(1).sqrt()
    size = torch.where(size > DEFAULTS.rounding * size.amax(0), size, 0.0)
    A = torch.where(size[:, None] > 0, A, 0.0) / torch.where(size > 0, size, 1.0)[:, None]
    G = A.mH @ A + DEFAULTS.ridge * torch.eye(A.shape[-1], dtype=A.dtype)
    coef = torch.linalg.solve_ex(G, A.mH @ b).result[..., 0].nan_to_num() / torch.where(size > 0, size, 1.0)
    return coef.T.reshape(-1, *modes)


def rooted(D: Complex[Tensor, "channels channels *modes"], steps: int) -> Complex[Tensor, "channels channels *modes"]:
    """The principal root of the matrix of every wave."""
    if steps == 1:
        return D
    values, vectors = torch.linalg.eig(D.flatten(2).permute(2, 0, 1))
    root = vectors * values.pow(1 / steps)[:, None] @ torch.linalg.inv(vectors)
    return root.permute(1, 2, 0).reshape(D.shape)


def shared(D: Tensor, steps: int, total: Complex[Tensor, "channels *modes"]) -> Complex[Tensor, "channels *modes"]:
    """The source of a substep, of what all of them add: Σ_j D^j f = total."""
    if steps == 1:
        return total
    power = torch.eye(len(D)).to(D).expand(D[0, 0].numel(), -1, -1)
    matrix, whole = D.flatten(2).permute(2, 0, 1), torch.zeros_like(power)
    for _ in range(steps):
        whole, power = whole + power, power @ matrix
    return torch.linalg.solve(whole, total.flatten(1).T[..., None])[..., 0].T.reshape(total.shape)


@dataclass(frozen=True)
class Trial:
    """Products and substeps that are tried, with the multipliers that were found for them and their error."""

    problem: Problem
    products: Products
    substeps: int = 1
    step: Substep | None = None
    error: float = torch.inf

    def fitted(self, rounds: int) -> "Trial":
        """Return this trial with multipliers fitted to the data by a fixed-point iteration of at most so many rounds.

        A round solves the least-squares problem that is linear in the new multipliers when those in products are held fixed. With several
        substeps, the next round starts from the mean of old and new ones. The iteration ends when predictions no longer
        change, or when the error rises.
        """
        step = self.step or refined(self.problem.begun(self.products), 1, self.substeps)
        best, least, before = step, torch.inf, torch.zeros_like(self.problem.Y)
        for _ in range(rounds):
            after, guess = self.problem.update(step, self.products, self.substeps)
            error = self.problem.error(guess)
            if not error < DEFAULTS.worse * least:
                break
            best, least = after, error
            if float((guess - before).norm()) < DEFAULTS.settled * error * float(self.problem.Y.norm()):
                break
            step, before = after if self.substeps == 1 else average(step, after), guess
        return replace(self, step=best, error=least)

    def better(self, other: "Trial") -> bool:
        """Whether it has an error that is less by a tenth."""
        return self.error < DEFAULTS.less * other.error

    def of(self, *kinds: str) -> "Trial":
        """With other products."""
        return replace(self, products=replace(self.products, kinds=tuple(sorted(kinds))), step=None)

    def refined(self) -> "Trial":
        """With more substeps, as long as errors fall."""
        best = self
        for count in DEFAULTS.substeps:
            if count > 2 * best.substeps and best.substeps < count // 2:
                break
            if best.step is not None and count > best.substeps:
                finer = replace(best, substeps=count, step=refined(best.step, best.substeps, count)).fitted(
                    DEFAULTS.tried_rounds
                )
                best = finer.fitted(DEFAULTS.rounds) if finer.better(best) else best
        return best

    def cut(self) -> "Trial":
        """With the cutoff of the least error: one of the usual, then moved wave by wave."""
        half, tried = max(self.products.grid.shape) // 2, dict[int, Trial]()

        def error(highest: int) -> float:
            if highest not in tried:
                products = replace(self.products, cutoff=(highest + 0.5) / half)
                tried[highest] = replace(self, products=products).fitted(DEFAULTS.rounds)
            return tried[highest].error

        best = min({round(share * half) - off for share in DEFAULTS.cutoffs for off in (0, 1)}, key=error)
        while near := [k for k in (best - 1, best + 1) if 2 < k <= half and error(k) < error(best)]:
            best = min(near, key=error)
        return tried[best]


def found(a: Tensor, y: Tensor, domain: Space, limit: float = torch.inf) -> tuple[ProductFeatures, float]:
    """The features that suit pairs best, and their relative error on some pairs that were left out.

    Kinds of products and substeps are added as long as errors fall by a tenth. Then the cutoff is moved, and kinds that are not needed are
    left out. Above an error of `limit`, all that is spared.
    """
    region, channels = region_of(domain, "ProductFeatures"), domain.channels
    grid = region.grid(*a.shape[-region.dim :])
    size = float(a.double().square().mean().sqrt()) or 1.0  # products of very large or small values are no numbers of float64
    axes = tuple(range(-len(grid.shape), 0))
    U, Y = (torch.fft.rfftn(channelled(f, domain).double() / size, dim=axes, norm="forward") for f in (a, y))
    most = max(DEFAULTS.fewest, min(len(a), DEFAULTS.searched // (grid.size * channels)))
    some = torch.linspace(0, len(a) - 1, min(most, len(a))).round().long()
    order = torch.cat([some[torch.arange(len(some)) % 4 != 3], some[3::4]])
    best = Trial(Problem(U[order], Y[order], len(some) - len(some) // 4), Products((), DEFAULTS.cutoffs[1], grid, channels))
    possible = Products.possible(region, channels)
    while others := [kind for kind in possible if kind not in best.products.kinds]:
        one = min(
            (best.of(*best.products.kinds, kind).fitted(DEFAULTS.tried_rounds) for kind in others),
            key=lambda trial: trial.error,
        )
        if not one.better(best):
            break
        best = one.fitted(DEFAULTS.rounds).refined()
    if best.error < limit:
        best = best.cut()
        for kind in best.products.kinds:
            fewer = [one for one in best.products.kinds if one != kind]
            if fewer and (other := best.of(*fewer).cut()).error < max(best.error / DEFAULTS.less, ENOUGH[a.dtype]):
                best = other
        forced = replace(best, problem=replace(best.problem, sourced=True)).fitted(DEFAULTS.rounds)
        best = (forced if forced.better(best) else best).refined()
    if best.step is None:
        return ProductFeatures(points=grid.shape, size=size, domain=domain), torch.inf
    whole = replace(best, problem=Problem(U, Y, len(U), best.problem.sourced)).fitted(DEFAULTS.rounds)
    assert whole.step is not None  # as `fitted` makes one
    sums = torch.cat(whole.step.sums(best.products, U, best.substeps, whole.problem.limit), 1).flatten(1, 2)
    sizes, usual = (f.abs().square().mean(0).sqrt() for f in (sums, U))
    features = ProductFeatures(
        **vars(whole.step),
        kinds=best.products.kinds,
        cutoff=best.products.cutoff,
        substeps=best.substeps,
        points=grid.shape,
        size=size,
        scales=torch.where(sizes > 0, usual.square().mean(0).sqrt() / sizes.clamp(min=1e-300), 0.0),
        sourced=best.problem.sourced,
        limit=whole.problem.limit,
        domain=domain,
    )
    return features, best.error


def refined(step: Substep, before: int, after: int) -> Substep:
    """About the multipliers of another number of substeps."""
    D, share = step.D, before / after
    for _ in range(before - 1):
        D = torch.einsum("ij...,jk...->ik...", D, step.D)
    return Substep(rooted(D, after), share * step.B, share * step.E, share * step.f)


def average(one: Substep, other: Substep) -> Substep:
    """Return the mean of two sets of multipliers. It damps the iteration, in which new multipliers alone may overshoot."""
    parts = [(getattr(one, name) + getattr(other, name)) / 2 for name in ("D", "B", "E", "f")]
    return Substep(*parts)
