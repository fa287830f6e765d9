"""Pages in HTML: `page` is the medium, one self-contained file; `surrogate` is what `raffia fit` says on it about a model."""

from raffia.report.page import Picture, Section, Table, write
from raffia.report.steps import StepAfterStep
from raffia.report.surrogate import write_report
from raffia.report.words import cases, in_words, sentence

__all__ = ["Picture", "Section", "StepAfterStep", "Table", "cases", "in_words", "sentence", "write", "write_report"]
