"""Guesses: what is inferred of a file, why and how surely; and the one place that takes, notes or asks."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from raffia.data.options import FLAGS, ReadingOptions
from raffia.errors import RaffiaError


class Confidence(IntEnum):
    """How sure a guess is."""

    OPEN = 0
    """Another reading is as likely: it is asked for, where there is one."""
    LIKELY = 1
    """Values, lengths or usual names speak for it: it is taken, and noted with the flag that changes it."""
    SURE = 2
    """The file or the user says so: it is taken, and noted."""


@dataclass(frozen=True)
class Guess:
    """A property of a file that was inferred, with its reason.

    Attributes
    ----------
    field
        The field of `ReadingOptions` that says the same; empty for a remark that no option changes.
    value
        The value of that field.
    reason
        What was inferred, and why, as a sentence without a full stop.
    confidence
        How sure it is.
    """

    field: str
    value: Any
    reason: str
    confidence: Confidence = Confidence.LIKELY

    @property
    def typed(self) -> str:
        """The command-line option that sets this value."""
        return shlex.join(ReadingOptions(**{self.field: self.value}).words)

    @property
    def note(self) -> str:
        """The guess as a sentence, with the option that changes it if the guess is uncertain."""
        hint = f"; {FLAGS[self.field]} says otherwise" if self.field and self.confidence is not Confidence.SURE else ""
        return f"{self.reason}{hint}."


class Guesses(list[Guess]):
    """All that was inferred of a file, in order."""

    def note(self, reason: str, field: str = "", value: Any = None, confidence: Confidence = Confidence.SURE) -> None:
        """Add one, unless it is there."""
        guess = Guess(field, value, reason.removesuffix("."), confidence)
        if guess.note not in self.notes:
            self.append(guess)

    def take(self, question: str, candidates: Sequence[Guess]) -> Any:
        """Return the value of the most certain guess and note it. Raise an error that asks the user if none is certain enough."""
        best = max(candidates, key=lambda guess: guess.confidence)
        if best.confidence is Confidence.OPEN:
            ways = " or ".join(dict.fromkeys(guess.typed for guess in candidates))
            raise RaffiaError(f"{question} Pass {ways} ({best.field}=…).")
        if best.reason:
            self.note(best.reason, best.field, best.value, best.confidence)
        return best.value

    @property
    def notes(self) -> list[str]:
        """The guesses as sentences."""
        return [guess.note for guess in self]
