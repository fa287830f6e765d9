"""Known properties of the outputs: linear equalities, which hold everywhere, and inequalities, which hold at collocation points."""

from raffia.constraints.boundary import BoundaryValues
from raffia.constraints.bounds import Bounded, Positive
from raffia.constraints.detect import conserved_by
from raffia.constraints.divergence import DivergenceFree
from raffia.constraints.equality import Equality, impose, project_features
from raffia.constraints.inequality import Collocation, Constraint, Inequality, check_spaces, spread
from raffia.constraints.integral import Conserved, Integral
from raffia.constraints.monotone import MonotoneAlong, MonotoneIn

__all__ = [
    "BoundaryValues", "Bounded", "Conserved", "DivergenceFree", "Integral", "MonotoneAlong", "MonotoneIn", "Positive",
    "conserved_by",
]  # fmt: skip
