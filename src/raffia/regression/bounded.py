"""Coefficients with linear inequalities, low ≤ Cα ≤ high: a quadratic programme, solved in coordinates where it is a distance.

With G + λ = LLᵀ and α₀ the coefficients without inequalities, α = α₀ + L⁻ᵀw minimises the same sum of squares if w is the shortest
vector with low ≤ C(α₀ + L⁻ᵀw) ≤ high. Few rows of C matter: those that α₀ violates are given to daqp, then those that its answer
violates, until none is. Its answer is not believed: the optimality conditions are evaluated here, on G, b and C themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.solvers.base import Solution, columns_of, condition_of
from raffia.regression.statistics import NormalEquations

Vector = Float[Tensor, "p"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """low ≤ C α_c ≤ high, with c the column of coefficients that a row is about, and the number of the constraint it comes from."""

    rows: Float[Tensor, "p m"]
    column: Int[Tensor, "p"]
    low: Vector
    high: Vector
    source: Int[Tensor, "p"]

    def part(self, which: Tensor) -> "Bounds":
        """Some rows."""
        return Bounds(self.rows[which], self.column[which], self.low[which], self.high[which], self.source[which])

    def within(self, margin: float, live: Tensor) -> "Bounds":
        """Return bounds narrowed by a margin, in rows that depend on coefficients and are wide enough."""
        room = margin * (live & (self.high - self.low > 4 * margin))
        return Bounds(self.rows, self.column, self.low + room, self.high - room, self.source)

    def excess(self, values: Vector) -> Vector:
        """By how much values are out of their bounds; negative inside."""
        return torch.maximum(self.low - values, values - self.high)

    def values(self, coef: Float[Tensor, "m columns"]) -> Vector:
        """Cα."""
        return (self.rows * coef.mT[self.column]).sum(1)


class Contradiction(Exception):
    """No coefficients meet all constraints."""


def bounded_solution(equations: NormalEquations, ridge: float, bounds: Bounds) -> tuple[Solution, Tensor]:
    """Return the coefficients that minimise the sum of squares within the bounds, and a multiplier for each row: zero if inactive."""
    shifted, rhs = equations.gram.clone(), columns_of(equations.rhs)
    shifted.diagonal().add_(ridge)
    factor, failed_at = torch.linalg.cholesky_ex(shifted)
    if failed_at:
        raise RaffiaError(
            f"inequalities need G + ridge positive definite; with ridge={ridge:g} it is not. Pass a larger ridge."
        )
    free = torch.cholesky_solve(rhs, factor)
    white = torch.linalg.solve_triangular(factor, bounds.rows.mT, upper=False).mT
    size, lengths = float(bounds.values(free).abs().max()), white.norm(dim=1)
    live = lengths > DEFAULTS.negligible_row * lengths.max()
    bounds, (steps, multipliers, rounds) = _moved(white, bounds, free, live, DEFAULTS.margin * size)
    coef = free + torch.linalg.solve_triangular(factor.mT, steps, upper=True)
    residual = _optimality(shifted, coef, rhs, bounds, multipliers, size, float((free * rhs).sum()))
    if not residual < DEFAULTS.largest_residual:
        raise RaffiaError(
            f"inequalities were met, but not by the best coefficients: the residual of the optimality conditions is {residual:.1e}. "
            f"Pass a larger ridge than {ridge:g}, so that the features are less dependent."
        )
    solution = Solution(
        coef.reshape(equations.rhs.shape), residual, len(coef), condition_of(factor, 4), n_iter=rounds, solver="daqp"
    )
    return solution, multipliers


Moved = tuple[Float[Tensor, "m columns"], Vector, int]


def _moved(white: Tensor, bounds: Bounds, free: Tensor, live: Tensor, margin: float) -> tuple[Bounds, Moved]:
    """Steps in whitened coordinates, multipliers, and how often rows were added; with a margin from bounds if that can be."""
    narrow = bounds.within(margin, live)
    try:
        return narrow, _columns(white, narrow, free, live, margin / 2)
    except Contradiction:  # bounds that touch leave no room for a margin
        return bounds, _columns(white, bounds, free, live, margin / 2)


def _columns(white: Tensor, bounds: Bounds, free: Tensor, live: Tensor, tolerance: float) -> Moved:
    """Column by column, from the coefficients without inequalities."""
    start = bounds.values(free)
    steps, multipliers, rounds = torch.zeros_like(free), torch.zeros_like(start), 0
    for column in bounds.column.unique().tolist():
        mine = bounds.column == column
        nearest = _nearest(white[mine], bounds.part(mine), start[mine], live[mine], tolerance)
        steps[:, column], multipliers[mine], taken = nearest
        rounds = max(rounds, taken)
    return steps, multipliers, rounds


def _optimality(
    shifted: Tensor, coef: Tensor, rhs: Tensor, bounds: Bounds, multipliers: Vector, size: float, energy: float
) -> float:
    """Return the largest residual of the optimality conditions, relative to the size of their terms.

    They are (G + λ)α + Cᵀμ = b, low ≤ Cα ≤ high, and μ = 0 except where a bound is active, with the sign of that bound.

    The scales are b, the `size` of values and the `energy` bᵀα of the coefficients without inequalities.
    """
    values, tiny = bounds.values(coef), torch.finfo(coef.dtype).tiny
    force = torch.zeros_like(coef).index_add_(1, bounds.column, (bounds.rows * multipliers[:, None]).mT)
    stationary = torch.linalg.vector_norm(shifted @ coef + force - rhs) / torch.linalg.vector_norm(rhs).clamp(min=tiny)
    feasible = bounds.excess(values).clamp(min=0).max() / max(size, tiny)
    slack = torch.where(multipliers > 0, bounds.high - values, values - bounds.low)
    complementary = torch.where(multipliers == 0, 0.0, multipliers.abs() * slack.abs()).sum() / max(energy, tiny)
    return float(torch.stack([stationary, feasible, complementary]).max())


def _nearest(
    white: Float[Tensor, "p m"], bounds: Bounds, start: Vector, live: Bool[Tensor, "p"], tolerance: float
) -> tuple[Float[Tensor, "m"], Vector, int]:
    """The shortest w with low ≤ start + Ww ≤ high, for one column; the multiplier of each row, and how often rows were added.

    `live` are the rows in which coefficients matter.
    """
    if (bounds.excess(start) > tolerance)[~live].any():
        raise Contradiction
    lengths, taken, rounds = white.norm(dim=1), torch.zeros_like(live), 0
    w, multipliers = torch.zeros_like(white[0]), torch.zeros_like(start)
    while True:
        violated = live & (bounds.excess(start + white @ w) > tolerance)
        if not (violated & ~taken).any():
            return w, multipliers, rounds
        taken, rounds = taken | violated, rounds + 1
        some, length = bounds.part(taken), lengths[taken]
        low, high = (some.low - start[taken]) / length, (some.high - start[taken]) / length
        w, own = _shortest(white[taken] / length[:, None], low, high)
        multipliers = torch.zeros_like(start)
        multipliers[taken] = own / length


def _shortest(rows: Float[Tensor, "k m"], low: Vector, high: Vector) -> tuple[Float[Tensor, "m"], Vector]:
    """The shortest w with low ≤ rows·w ≤ high, and the multipliers of w + rowsᵀμ = 0, by daqp; in the span of few rows."""
    daqp, (k, m) = _daqp(), rows.shape
    basis, triangle = torch.linalg.qr(rows.mT) if 2 * k < m else (None, rows.mT)
    size = float(torch.maximum(low, -high).max())  # how far the start is out: tolerances are relative to it
    dim = len(triangle)
    x, _, answer, info = daqp.solve(
        np.eye(dim),
        np.zeros(dim),
        np.ascontiguousarray(triangle.mT.numpy(force=True)),
        _finite(high / size),
        _finite(low / size),
        np.zeros(k, dtype=np.int32),
        primal_tol=1e-11,
        iter_limit=100 * k + 1000,
    )
    if answer == DEFAULTS.infeasible:
        raise Contradiction
    if answer != DEFAULTS.found:
        raise RaffiaError(
            f"daqp could not solve the quadratic programme of the inequalities (it answered {answer}). Pass a larger ridge."
        )
    multipliers = torch.as_tensor(np.asarray(info["lam"])).to(rows)
    multipliers = torch.where(multipliers.abs() > 1e-13 * multipliers.abs().max(), multipliers, 0.0)
    w = size * torch.as_tensor(np.asarray(x)).to(rows)
    return w if basis is None else basis @ w, multipliers * size


def _finite(bounds: Vector) -> np.ndarray:
    """As daqp has them: 1e30 is infinite."""
    return bounds.clamp(-1e30, 1e30).numpy(force=True).astype(np.float64)


def _daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise RaffiaError(
            "inequalities, such as Positive(), need the package daqp: pip install 'raffia[constraints]'. Equalities do not."
        ) from None
    return daqp
