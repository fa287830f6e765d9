"""What is known of outputs beside the data: linear equalities, which hold everywhere, and inequalities, which hold at points."""

from raffia.constraints.boundary import BoundaryValues
from raffia.constraints.bounds import Bounded, Positive
from raffia.constraints.detect import conserved_by
from raffia.constraints.divergence import DivergenceFree
from raffia.constraints.equality import Equality, imposed, shaped
from raffia.constraints.families import Constraint, check_spaces, equalities_in, inequalities_in
from raffia.constraints.inequality import Collocation, Inequality, spread
from raffia.constraints.integral import Conserved, Integral
from raffia.constraints.monotone import MonotoneAlong, MonotoneIn

__all__ = [
    "BoundaryValues", "Bounded", "Collocation", "Conserved", "Constraint", "DivergenceFree", "Equality", "Inequality", "Integral",
    "MonotoneAlong", "MonotoneIn", "Positive", "check_spaces", "conserved_by", "equalities_in", "imposed", "inequalities_in", "shaped",
    "spread",
]  # fmt: skip
