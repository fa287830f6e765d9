"""The two kinds of constraints, and how a list of them is read."""

from collections.abc import Iterable

from raffia.constraints.equality import Equality
from raffia.constraints.inequality import Inequality
from raffia.spaces import Space

Constraint = Equality | Inequality


def equalities_in(constraints: Iterable[object]) -> tuple[Equality, ...]:
    """Those that hold everywhere."""
    return tuple(one for one in constraints if isinstance(one, Equality))


def inequalities_in(constraints: Iterable[object]) -> tuple[Inequality, ...]:
    """Those that hold at collocation points."""
    return tuple(one for one in constraints if isinstance(one, Inequality))


def check_spaces(constraints: Iterable[Constraint], inputs: Space, outputs: Space) -> None:
    """Refuse constraints that say nothing of functions between these spaces."""
    for one in constraints:
        one.check(inputs, outputs)
