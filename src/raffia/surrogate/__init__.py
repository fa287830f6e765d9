"""From data to a surrogate: features chosen, trained, and judged on pairs held out."""

from raffia.surrogate.candidates import FAMILIES, Candidate, Family, candidates, named
from raffia.surrogate.entries import Contest, Entry
from raffia.surrogate.fitting import fit
from raffia.surrogate.result import Surrogate

__all__ = ["FAMILIES", "Candidate", "Contest", "Entry", "Family", "Surrogate", "candidates", "fit", "named"]
