"""The linear equation of second order that pairs satisfy best: found from them by an eigenvalue problem of a few numbers.

With outputs y_i = Σ_k u_ik ψ_k in their principal components, (A(a_i) + C) u_i = f + g(a_i) is linear in all that is unknown: the numbers
of the polynomials that A and g are made of, the load f, the correction C. The numbers are those for which A(a_i) u_i − g(a_i) varies least
from pair to pair, relative to what it is with the outputs of other inputs, in the units of outputs; its mean is f. What a correction,
with a ridge, explains of the rest is C. A few steps of Gauss and Newton make numbers of which predictions, not equations, are nearest
to the outputs. How many components, the degree of polynomials, whether to take these steps, and which ridge is decided on some
pairs that were left out; then all pairs are used.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import channelled, per_channel, region_of, shift_and_scale
from raffia.features.weak_form import WeakForm
from raffia.spaces import Boundary, Domain, Grid, Space, modes_of


@dataclass(frozen=True)
class EquationDefaults:
    """Numbers that decide which equation is found."""

    component_pairs: int = 1500
    """At most this many pairs make components."""
    equation_pairs: int = 1000
    """At most this many of them make an equation."""
    independent: float = 1e-9
    """Directions whose eigenvalue is below this share of the largest are left out."""
    degrees: tuple[int, ...] = (2, 1, 3)
    """Degrees of polynomials, in the order tried."""
    ranks: tuple[int, ...] = (16, 32, 64, 128, 192, 256, 320)
    """Numbers of components, as many as there are pairs for, and time."""
    hopeful: int = 64
    """With this many components an error above the limit ends the search."""
    work: float = 3e9
    """At most this many products assemble a matrix."""
    share: float = 0.7
    """A basis has at most this share of the pairs."""
    rounding: float = 1e-14
    """Components below this share of the largest variance are rounding."""
    judged: int = 64
    """At most this many pairs, or a fifth, are left out to compare equations."""
    folds: int = 3
    """Of few pairs, this many fifths are left out, one at a time."""
    passes: int = 3
    """Solutions of the eigenvalue problem: first in the units of equations, then in those of outputs."""
    ridges: tuple[float | None, ...] = (None, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    """Relative ridges of the correction; None is no correction."""
    elliptic: float = 0.9
    """β is kept from zero if it has one sign in this share of the cells."""
    floor: float = 0.05
    """It is then at least this share of its mean."""
    worst: float = 1.0
    """The largest relative error that a pair may have when equations are compared."""
    larger: float = 2.0
    """Solutions for new inputs may be this many times as large as the largest output."""
    farthest: float = 0.1
    """Random loads differ from the fixed one by at most this share of outputs."""
    far: float = 8.0
    """Pairs whose residual is above this many medians count less."""
    newton_steps: int = 6
    """Steps of Gauss and Newton."""
    newton_pairs: int = 96
    """Pairs that these steps use."""
    newton_components: int = 200
    """Components that these steps use."""
    damping: float = 1e-6
    """Damping of these steps."""


DEFAULTS = EquationDefaults()


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs in the components of a basis, with the terms of the weak form that multiply each unknown coefficient."""

    form: WeakForm
    powers: Float[Tensor, "powers n cells"]
    u: Float[Tensor, "n r"]
    terms: Float[Tensor, "terms n r"]

    @classmethod
    def of(cls, form: WeakForm, q: Tensor, u: Tensor, degree: int) -> "Pairs":
        """Evaluate all terms of the weak form at the pairs (q, u)."""
        powers = form.powers(q, degree)
        return cls(form, powers, u, form.terms(u, powers))

    def bounds(self, numbers: Tensor) -> Float[Tensor, "2 2"]:
        """What α and β are kept between, so that A(a) has no poles on other inputs: their ranges on these pairs.

        Where β has one sign but for a few cells, in which polynomials are wrong, it is kept away from zero.
        """
        fields = torch.stack(coefficient_fields(numbers, self.powers))
        bounds, beta = torch.stack([fields.amin((1, 2)), fields.amax((1, 2))], 1), fields[1]
        mean = beta.mean()
        if bounds[1].prod() < 0 and (beta * mean > 0).double().mean() >= DEFAULTS.elliptic:
            bounds[1, int(mean < 0)] = DEFAULTS.floor * mean
        return bounds

    def matrices(self, numbers: Tensor, bounds: Tensor) -> Float[Tensor, "n r r"]:
        """A(a_i)."""
        return self.form.matrices(*coefficient_fields(numbers, self.powers, bounds))

    def mean(self, numbers: Tensor, bounds: Tensor | None = None) -> Float[Tensor, "r r"]:
        """The mean of A(a_i), assembled once, for A is linear in its fields."""
        fields = coefficient_fields(numbers, self.powers, bounds)
        return self.form.matrices(*(field.mean(0, keepdim=True) for field in fields))[0]

    def driven(self, numbers: Tensor) -> Float[Tensor, "n r"]:
        """g(a_i)."""
        first = 2 * len(self.powers)
        return -torch.einsum("t,tnr->nr", numbers[first:], self.terms[first:])

    def numbers(self) -> Float[Tensor, "terms"]:
        """Those for which A(a_i) u_i − g(a_i) varies least, relative to what it is with the outputs of other inputs."""
        others = self.form.terms(self.u.roll(1, 0), self.powers)
        found, units = torch.ones_like(self.terms[:, 0, 0]), torch.eye(self.u.shape[1]).to(self.u)
        weights = torch.ones_like(self.u[:, :1])
        for _ in range(DEFAULTS.passes):
            moved, wrong = ((terms @ units.mT) for terms in (self.terms, others))
            moved = moved - (weights * moved).mean(1, keepdim=True) / weights.mean()
            varying, whole = ((f.flatten(1) @ f.flatten(1).mT) for f in (weights.sqrt() * moved, wrong))
            size = whole.diagonal().sqrt().clamp(min=1e-300)
            values, vectors = torch.linalg.eigh(whole / size / size[:, None])
            known = values > DEFAULTS.independent * values[-1]
            white = vectors[:, known] / values[known].sqrt() / size[:, None]
            found = white @ torch.linalg.eigh(white.mT @ varying @ white).eigenvectors[:, 0]
            units, weights = torch.linalg.pinv(self.mean(found)), _weights(torch.einsum("t,tnr->nr", found, moved))
        return found

    def refined(self, numbers: Float[Tensor, "terms"]) -> Float[Tensor, "terms"]:
        """Return coefficients that are improved by Gauss–Newton steps: they minimise the misfit of predictions, with the best load."""
        best, least, roots = numbers, math.inf, torch.ones_like(self.u[:, :1])
        for step in range(DEFAULTS.newton_steps + 1):
            inverse, driven = torch.linalg.inv(self.matrices(numbers, self.bounds(numbers))), self.driven(numbers)
            predicted = torch.einsum("nij,nj->ni", inverse, self._load(inverse, driven, roots) + driven)
            roots = roots if step else _weights(predicted - self.u).sqrt()
            wrong = float((roots * (predicted - self.u)).norm())
            best, least = (numbers, wrong) if wrong < least else (best, least)
            slopes = -(roots * torch.einsum("nij,tnj->tni", inverse, self.form.terms(predicted, self.powers))).flatten(1)
            size = slopes.norm(dim=1).clamp(min=1e-300)
            slopes = slopes / size[:, None]
            normal = slopes @ slopes.mT + DEFAULTS.damping * torch.eye(len(slopes)).to(slopes)
            numbers = numbers - torch.linalg.solve(normal, slopes @ (roots * (predicted - self.u)).flatten()) / size
        return best

    def _load(
        self, inverse: Float[Tensor, "n r r"], driven: Float[Tensor, "n r"], roots: Float[Tensor, "n 1"]
    ) -> Float[Tensor, "r"]:
        """The f for which A(a_i)⁻¹ (f + g(a_i)) is nearest to u_i, in weighted squares."""
        left = roots * (self.u - torch.einsum("nij,nj->ni", inverse, driven))
        rows = (roots[:, :, None] * inverse).flatten(0, 1)
        return torch.linalg.lstsq(rows.mT @ rows, rows.mT @ left.flatten()[:, None]).solution[:, 0]

    def closed(
        self, numbers: Float[Tensor, "terms"], bounds: Tensor, ridges: Sequence[float | None]
    ) -> list[tuple[Tensor | None, Tensor]]:
        """C and f for each ridge, of a least-squares problem in the units of outputs; without a ridge, no C."""
        left = torch.einsum("nij,nj->ni", self.matrices(numbers, bounds), self.u) - self.driven(numbers)
        mean = self.mean(numbers, bounds)
        inverse = torch.linalg.pinv(mean)
        weights = _weights((left - left.median(0).values) @ inverse.mT)
        load, centre = ((weights * f).sum(0) / weights.sum() for f in (left, self.u))
        centred, moved = weights.sqrt() * (self.u - centre), weights.sqrt() * ((left - load) @ inverse.mT)
        found: list[tuple[Tensor | None, Tensor]] = []
        for ridge in ridges:
            if ridge is None:
                found.append((None, load))
                continue
            penalty = ridge * self.u.square().mean() * len(self.u)
            normal = centred.mT @ centred + penalty * torch.eye(centred.shape[1]).to(centred)
            correction = -mean @ torch.linalg.solve(normal, centred.mT @ moved).mT
            found.append((correction, load + correction @ centre))
        return found


def _weights(residuals: Float[Tensor, "n r"]) -> Float[Tensor, "n 1"]:
    """One for each pair, less where its residual is far larger than those of the others: wrong outputs must not decide."""
    sizes = residuals.norm(dim=1, keepdim=True)
    return (DEFAULTS.far * sizes.median() / sizes.clamp(min=1e-300)).clamp(max=1).square()


def coefficient_fields(
    numbers: Tensor, powers: Float[Tensor, "powers n cells"], bounds: Float[Tensor, "2 2"] | None = None
) -> list[Float[Tensor, "n cells"]]:
    """α and β from their polynomials, each clamped to its bounds."""
    fields = [torch.einsum("p,pnc->nc", c, powers) for c in numbers[: 2 * len(powers)].split(len(powers))]
    if bounds is None:
        return fields
    return [field.clamp(*pair.to(field).unbind()) for field, pair in zip(fields, bounds, strict=True)]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Pairs, and the principal components of their outputs."""

    q: Float[Tensor, "n channels *grid"]
    y: Float[Tensor, "n points"]
    components: Float[Tensor, "r points"]
    """Orthonormal, as rows of embedded functions."""
    grid: Grid
    boundary: Boundary | tuple[Boundary, ...]

    @classmethod
    def of(cls, q: Tensor, y: Tensor, domain: Domain) -> "Outputs":
        """Return the principal components of outputs y for inputs q, except those at the level of rounding."""
        grid = domain.grid_of(y)
        embedded = grid.embed(y)
        values, vectors = torch.linalg.eigh(embedded @ embedded.mT)
        known = values > (DEFAULTS.rounding * values[-1]).clamp(min=1e-300)
        rows = (vectors[:, known] / values[known].sqrt()).mT.flip(0) @ embedded
        boundary = getattr(modes_of(y, grid), "boundary", domain.natural_boundary)
        return cls(q, embedded, torch.linalg.qr(rows.mT).Q.mT, grid, boundary)

    def basis(self, rank: int) -> Float[Tensor, "rank *grid"]:
        """The first components, as functions."""
        return (self.components[:rank] / self.grid.root_weights.to(self.y)).reshape(-1, *self.grid.shape)

    def pairs(self, rank: int, degree: int, most: int = DEFAULTS.equation_pairs) -> Pairs:
        """Some of the pairs, in so many components, and polynomials of a degree."""
        form = WeakForm.of(self.basis(rank), self.grid, self.boundary)
        return Pairs.of(form, self.q[:most], self.y[:most] @ self.components[:rank].mT, degree)

    @property
    def ranks(self) -> list[int]:
        """Numbers of components to try: as many as there are pairs for, and time."""
        cells = (1 + len(self.grid.shape)) * self.grid.size
        most = min(int(DEFAULTS.share * len(self.y)), len(self.components), math.isqrt(int(DEFAULTS.work / cells)))
        return [rank for rank in DEFAULTS.ranks if rank < most] + [most] * (0 < most <= DEFAULTS.ranks[-1])


@dataclass(frozen=True)
class Tried:
    """What was chosen by pairs left out, and their mean relative error."""

    error: float = math.inf
    rank: int = 1
    degree: int = DEFAULTS.degrees[0]
    refined: bool = False
    ridge: float | None = None


def found(
    a: Float[Tensor, "n *input"], y: Float[Tensor, "n *grid"], domain: Space, limit: float = math.inf
) -> tuple[dict[str, Any], float]:
    """Return the parameters of `GalerkinFeatures` fitted to these pairs, and their error on held-out pairs.

    If the error with a few dozen principal components is above the `limit`, larger numbers of components are not tried.
    """
    region = region_of(domain, "GalerkinFeatures")
    # squares of outputs must not leave the range of numbers
    size = y.double().abs().max().clamp(min=torch.finfo(torch.float64).tiny)
    shift, scale = shift_and_scale(a, domain)
    a, y = channelled(a, domain).double(), y.double() / size
    q = (a - per_channel(shift, a)) / per_channel(scale, a)
    order = torch.randperm(len(a), generator=torch.Generator().manual_seed(0))[: DEFAULTS.component_pairs].to(a.device)
    out = min(DEFAULTS.judged, max(2, len(order) // 5))
    sides = []
    for judged in order.split(out)[: DEFAULTS.folds if out < DEFAULTS.judged else 1]:
        train = order[~torch.isin(order, judged)]
        sides.append((Outputs.of(q[train], y[train], region), q[judged], y[judged]))
    best = _best(sides, limit)
    whole = Outputs.of(q[order], y[order], region)
    pairs = whole.pairs(min(best.rank, len(whole.components)), best.degree)
    numbers = _refined(whole, pairs, best.degree) if best.refined else pairs.numbers()
    bounds = pairs.bounds(numbers)
    correction, load = pairs.closed(numbers, bounds, [best.ridge])[0]
    mean = pairs.mean(numbers, bounds) + (0.0 if correction is None else correction)
    mass, stiffness, source = numbers.split([len(pairs.powers), len(pairs.powers), len(pairs.powers) - 1])
    return {
        "mass": mass,
        "stiffness": stiffness,
        "source": size * source,
        "spread": min(best.error, DEFAULTS.farthest),
        "shift": shift,
        "scale": scale,
        "basis": whole.basis(best.rank),
        "load": size * load,
        "loads": size * (mean * pairs.u.square().mean(0).sqrt()),
        "correction": correction,
        "boundary": whole.boundary,
        "bounds": bounds,
        "limit": DEFAULTS.larger * float(size * pairs.u.norm(dim=1).max()),
    }, best.error


Side = tuple[Outputs, Tensor, Tensor]
"""Some pairs, and the inputs and outputs of others that they are judged by."""


def _best(sides: list[Side], limit: float) -> Tried:
    """What suits the pairs left out: first the rank, then the degree of polynomials, then whether to refine their numbers."""
    best = Tried()
    for rank in sides[0][0].ranks:
        one = _judged(sides, Tried(rank=rank))
        best, worse = _better(best, one), one.error > best.error
        if (worse and rank > 2 * best.rank) or (
            rank >= DEFAULTS.hopeful and best.error > limit / 2
        ):  # more components take seconds each
            break
    if best.error > limit:
        return best
    for degree in DEFAULTS.degrees[1:]:
        best = _better(best, _judged(sides, replace(best, degree=degree)))
    return _better(best, _judged(sides, replace(best, refined=True)))


def _better(one: Tried, other: Tried) -> Tried:
    """That of the smaller error."""
    return min(one, other, key=lambda tried: tried.error)


def _judged(sides: list[Side], tried: Tried) -> Tried:
    """The mean error of such an equation with the ridge that suits best."""
    errors = torch.stack([_errors(*side, tried) for side in sides]).mean(0)
    least = int(errors.argmin())
    return replace(tried, error=float(errors[least]), ridge=DEFAULTS.ridges[least])


def _errors(kept: Outputs, q: Tensor, y: Tensor, tried: Tried) -> Float[Tensor, "ridges"]:
    """The mean error of an equation of the pairs kept on others, for each ridge; none counts as more than the worst."""
    pairs, embedded = kept.pairs(tried.rank, tried.degree), kept.grid.embed(y)
    numbers = _refined(kept, pairs, tried.degree) if tried.refined else pairs.numbers()
    components = kept.components[: tried.rank]
    there = Pairs.of(pairs.form, q, embedded @ components.mT, tried.degree)
    bounds = pairs.bounds(numbers)
    matrices, driven = there.matrices(numbers, bounds), there.driven(numbers)
    outside = (embedded - there.u @ components).square().sum(1)
    means = []
    for correction, load in pairs.closed(numbers, bounds, DEFAULTS.ridges):
        solved, _ = torch.linalg.solve_ex(matrices if correction is None else matrices + correction, load + driven)
        errors = ((solved - there.u).square().sum(1) + outside).sqrt() / embedded.norm(dim=1).clamp(min=1e-300)
        means.append(errors.nan_to_num(math.inf).clamp(max=DEFAULTS.worst).mean())
    return torch.stack(means)


def _refined(outputs: Outputs, pairs: Pairs, degree: int) -> Float[Tensor, "terms"]:
    """Numbers by steps on some pairs and components, from those of all."""
    few = outputs.pairs(min(DEFAULTS.newton_components, pairs.u.shape[1]), degree, DEFAULTS.newton_pairs)
    try:
        return few.refined(pairs.numbers())
    except torch.linalg.LinAlgError:  # of matrices that cannot be inverted
        return pairs.numbers()
