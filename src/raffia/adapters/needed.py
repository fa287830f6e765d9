"""Packages that are only needed by those who use them."""

from importlib import import_module
from typing import Any

from raffia.errors import RaffiaError


def needed(name: str, package: str) -> Any:
    """A module, or an error that says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RaffiaError(f"this needs {package}, which does not import ({error}): pip install 'raffia[adapters]'.") from error
