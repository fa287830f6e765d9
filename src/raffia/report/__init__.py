"""The report of a surrogate: one HTML page that says how good the model is, and what to make of it."""

from raffia.report.sections import report
from raffia.report.wording import band_in_words, cases, contest_title, in_words, ridge_in_words, sentence

__all__ = ["band_in_words", "cases", "contest_title", "in_words", "report", "ridge_in_words", "sentence"]
