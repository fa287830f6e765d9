"""Constraints as a user would write them."""

from dataclasses import fields
from typing import Any


def as_written(constraint: Any) -> str:
    """The class and the arguments that differ from what they are by default: `Bounded(high=0.5)`."""
    given = {field.name: getattr(constraint, field.name) for field in fields(constraint)}
    told = {field.name: given[field.name] for field in fields(constraint) if given[field.name] != field.default}
    return f"{type(constraint).__name__}({', '.join(f'{name}={value!r}' for name, value in told.items())})"
