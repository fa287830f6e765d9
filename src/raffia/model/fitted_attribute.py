"""Attributes of a fitted model that are read off what training found."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from raffia.model.trained import Trained

T = TypeVar("T")


class Found(Generic[T]):
    """What `read` gives of a model's `trained_`; where that is None the attribute is not there, and the message says when it is."""

    def __init__(self, read: Callable[[Trained], T | None], words: str, absent: str = "") -> None:
        self.read, self.__doc__, self.absent = read, words, absent

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> T:
        if model is None:
            return self  # type: ignore[return-value]  # of the class: for documentation
        value = self.read(model.trained_)
        if value is None:
            raise AttributeError(f"this {owner.__name__} has no {self.name}: {self.absent}")
        return value
